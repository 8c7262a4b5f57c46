"""Any month can be written at any time, by whomever and by several at once; nobody waits for a lock for ever."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from threading import Barrier

import psycopg
import pytest

from strom.domain.load_profile import Half, Row
from strom.domain.segments import Quality
from strom.errors import StromError
from strom.store import partitions
from strom.store.partitions import MONTHLY, ensure_partitions, later, month_of, months_between, partitions_of
from strom.store.profile_tables import StoredRow, load_rows, rows_at, save_rows
from strom.store.schema import connect, ensure_schema
from strom.store.writes import Work, Writer

pytestmark = pytest.mark.stack
LOAD_PROFILE = MONTHLY[0]
MAY_2021, JULY_2026 = 1_621_000_800_000, 1_784_376_000_000


@pytest.fixture
def tables(database: str) -> Iterator[str]:
    ensure_schema(database)
    yield database
    partitions.forget_partitions()


def row(start: int, meter: str = "m1", mwh: int = 1_500) -> StoredRow:
    return StoredRow(meter, Row(start, Half(mwh, Quality.MEASURED, 180), None), 180, 1)


def months_of_rows(url: str) -> dict[str, int]:
    with connect(url) as connection:
        return dict(
            connection.execute(
                "SELECT tableoid::regclass::text, count(*) FROM load_profile GROUP BY 1"
            ).fetchall()
        )


def test_months_begin_at_midnight_in_utc() -> None:
    assert month_of(1_767_225_599_999) == date(2025, 12, 1)
    assert month_of(1_767_225_600_000) == date(2026, 1, 1)
    assert month_of(0) == date(1970, 1, 1)
    assert (later(date(2026, 1, 1), -1), later(date(2025, 12, 1), 14)) == (
        date(2025, 12, 1),
        date(2027, 2, 1),
    )
    assert months_between(1_767_225_599_999, 1_767_225_600_000) == [date(2025, 12, 1), date(2026, 1, 1)]


def test_this_month_and_the_next_are_there_from_the_start(tables: str) -> None:
    with connect(tables) as connection:
        for monthly in MONTHLY:
            assert len(partitions_of(connection, monthly)) == 2


def test_rows_of_any_year_are_written_into_their_month_and_replaced_there(tables: str) -> None:
    with Writer(tables) as writer:
        for mwh in (1, 2):
            with writer.work() as work:
                save_rows(work, [row(MAY_2021, mwh=mwh), row(JULY_2026, mwh=mwh)])
        with writer.work() as work:
            assert {
                stored.row.imported.mwh
                for stored in load_rows(work, [("m1", 0, None)]).values()
                if stored.row.imported
            } == {2}
            assert set(rows_at(work, [("m1", MAY_2021), ("m2", JULY_2026)])) == {("m1", MAY_2021)}
    assert months_of_rows(tables) == {"load_profile_2021_05": 1, "load_profile_2026_07": 1}


def test_writers_in_the_middle_of_their_transactions_make_the_same_months_at_once(tables: str) -> None:
    writers, months = 5, [later(date(2019, 1, 1), number) for number in range(30)]
    here = Barrier(writers)

    def write(number: int) -> None:
        with connect(tables) as connection:
            work = Work(connection, tables)
            save_rows(work, [row(JULY_2026, f"m{number}")])
            load_rows(work, [(f"m{number}", 0, None)])
            here.wait(30)
            partitions.forget_partitions()  # as in another process
            ensure_partitions(tables, months if number % 2 else reversed(months))
            save_rows(work, [row(MAY_2021, f"m{number}")])

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    assert months_of_rows(tables) == {"load_profile_2021_05": writers, "load_profile_2026_07": writers}
    with connect(tables) as connection:
        assert set(months) < set(partitions_of(connection, LOAD_PROFILE))


def test_a_month_that_is_known_costs_no_connection(tables: str) -> None:
    ensure_partitions(tables, [date(2021, 5, 1)])
    with psycopg.connect(tables, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s, hashtext('public'))", (partitions.PARTITION_LOCK,))
        ensure_partitions(tables, [date(2021, 5, 1)])


def test_whoever_keeps_a_month_from_being_made_is_not_waited_for_for_ever(
    tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_LOCK_SECONDS", 1)
    with psycopg.connect(tables) as other, Writer(tables) as writer:
        other.execute("LOCK TABLE load_profile IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StromError, match="somebody holds a lock"), writer.work() as work:
            save_rows(work, [row(MAY_2021)])
        other.rollback()
        with writer.work() as work:
            save_rows(work, [row(MAY_2021)])


def test_a_month_that_another_process_has_dropped_is_made_again_by_the_next_try(tables: str) -> None:
    with Writer(tables) as writer:
        with writer.work() as work:
            save_rows(work, [row(MAY_2021)])
        with psycopg.connect(tables) as other:
            other.execute("DROP TABLE load_profile_2021_05")
        with pytest.raises(psycopg.errors.CheckViolation), writer.work() as work:
            save_rows(work, [row(MAY_2021)])
        with writer.work() as work:
            save_rows(work, [row(MAY_2021)])
    assert months_of_rows(tables) == {"load_profile_2021_05": 1}
