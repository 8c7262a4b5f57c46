"""Old months go whole; what a series needs to go on, and what has not ended, stays."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import psycopg
import pytest

from strom.domain.acceptance import walk
from strom.domain.load_profile import Direction
from strom.domain.segments import Measure, Rules
from strom.domain.slots import SLOT_MS
from strom.store import partitions, retention
from strom.store.partitions import MONTHLY, ensure_partitions, partitions_of
from strom.store.profile_tables import millis
from strom.store.retention import Dropped, drop_months, first_kept
from strom.store.schema import connect, ensure_schema
from strom.store.segment_tables import SeriesChange, load_tails, save_series
from strom.store.writes import Work, Writer
from tests.waiting import until

pytestmark = pytest.mark.stack
RULES = Rules(limit_w=43_470, noise_mwh=10_000, exact_ms=60_000, linear_ms=7_200_000)
MAY, JUNE, JULY = (datetime(2026, month, 10, tzinfo=UTC) for month in (5, 6, 7))
FIRST = date(2026, 7, 1)
SMALL = """
INSERT INTO gaps VALUES ('m', %(may)s, %(june)s, 1, 1), ('m', %(june)s, %(july)s, 1, 1);
INSERT INTO alerts (id, meter, kind, started, ended, text) VALUES ('1', 'm', 'silent', %(may)s, %(june)s, ''),
    ('2', 'm', 'silent', %(may)s, %(july)s, ''), ('3', 'm', 'silent', %(may)s, NULL, '');
INSERT INTO late_readings VALUES ('m', %(may)s, %(june)s, 'a', '{}'), ('m', %(may)s, %(july)s, 'b', '{}');
INSERT INTO runs VALUES ('m', 'k', '', 1, 2, 3, 4), ('m', 'k', '', 5, 6, 7, NULL);
"""


@pytest.fixture
def tables(database: str) -> Iterator[str]:
    """The meter `silent` was heard in May for the last time, the meter `m` in all three months."""
    ensure_schema(database)
    with Writer(database) as writer, writer.work() as work:
        for meter, months in (("silent", (MAY,)), ("m", (MAY, JUNE, JULY))):
            for month in months:
                save_series(work, [series(meter, millis(month))])
                work.ensure_partitions([millis(month)])
                work.execute(
                    "INSERT INTO load_profile (meter, start, quality, samples) VALUES (%s, %s, 'missing', 0)",
                    *(meter, month),
                )
    yield database
    partitions.forget_partitions()


def series(meter: str, start: int) -> SeriesChange:
    points = [(start + number * SLOT_MS // 3, number * 100) for number in range(12)]
    walked = walk(None, points, Measure.COUNTER, RULES)
    return SeriesChange((meter, Direction.IMPORT), Measure.COUNTER, points[-1][0], (), walked.settled, None)


def months(url: str, table: str) -> set[str]:
    """The months that have rows."""
    with connect(url) as connection:
        rows = connection.execute(f"SELECT DISTINCT tableoid::regclass::text FROM {table}".encode())  # noqa: S608
        return {name.removeprefix(f"{table}_") for (name,) in rows.fetchall()}


@pytest.mark.parametrize(("keep", "first"), [(1, date(2026, 6, 1)), (12, date(2025, 7, 1))])
def test_whole_months_before_the_present_one_are_kept(keep: int, first: date) -> None:
    assert first_kept(datetime(2026, 7, 31, 23, tzinfo=UTC), keep) == first


def test_old_months_go_but_for_the_last_segment_of_a_silent_meter(tables: str) -> None:
    key = ("silent", Direction.IMPORT)
    with Writer(tables) as writer:
        with writer.work() as work:
            tail = load_tails(work, ["silent"])[key]
        assert drop_months(tables, FIRST).partitions == 8
        assert months(tables, "load_profile") == {"2026_07"}
        assert months(tables, "profile_segments") == {"2026_05", "2026_07"}
        with writer.work() as work:
            assert work.rows("SELECT meter, slot FROM profile_segments WHERE slot < %s", millis(JUNE)) == [
                ("silent", tail.segment.slot)
            ]
            assert load_tails(work, ["silent"]) == {key: tail}
        assert drop_months(tables, FIRST) == Dropped(0, 0)
        with writer.work() as work:  # the meter is heard again: its last segment is replaced where it lies
            for month in (MAY, JULY):
                save_series(work, [series("silent", millis(month))])
    assert drop_months(tables, FIRST).partitions == 4  # writing made the month again
    assert months(tables, "profile_segments") == {"2026_07"}


def test_a_dropped_month_can_be_written_again_and_goes_again(tables: str) -> None:
    drop_months(tables, FIRST)
    with Writer(tables) as writer, writer.work() as work:
        save_series(work, [series("m", millis(MAY))])
    assert months(tables, "profile_segments") == {"2026_05", "2026_07"}


def test_of_the_small_tables_goes_what_ended_before(tables: str) -> None:
    with psycopg.connect(tables) as connection:
        psycopg.ClientCursor(connection).execute(SMALL, {"may": MAY, "june": JUNE, "july": JULY})
    assert drop_months(tables, FIRST).rows == 4
    with connect(tables) as connection:
        left = (
            "SELECT 'gap' FROM gaps UNION ALL SELECT id FROM alerts UNION ALL SELECT origin FROM late_readings "
            "UNION ALL SELECT start::text FROM runs ORDER BY 1"
        )
        assert [each for (each,) in connection.execute(left).fetchall()] == ["2", "3", "5", "b", "gap"]


def test_a_table_that_is_read_for_long_is_left_to_the_next_call(
    tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_LOCK_SECONDS", 1)
    with psycopg.connect(tables) as reader:
        for monthly in MONTHLY:
            reader.execute(f"SELECT FROM {monthly.table} LIMIT 1".encode())
        assert drop_months(tables, FIRST).partitions == 0
    assert drop_months(tables, FIRST).partitions == 8


def test_a_writer_that_needs_a_new_month_and_a_drop_that_waits_for_the_writer_both_come_to_an_end(
    tables: str,
) -> None:
    waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'load_profile'::regclass"
    with connect(tables) as connection, psycopg.connect(tables) as watch, ThreadPoolExecutor(1) as pool:
        Work(connection, tables).execute("DELETE FROM load_profile WHERE meter = 'nobody'")
        dropping = pool.submit(drop_months, tables, FIRST)
        until(lambda: bool(watch.execute(waiting).fetchall()), "the drop waits")
        ensure_partitions(tables, [date(2019, 1, 1)])
        connection.commit()
        dropping.result(60)
        assert date(2019, 1, 1) in partitions_of(watch, MONTHLY[0])
