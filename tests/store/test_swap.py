"""A set of tables takes the place of the live one whole, or not at all; readers do not notice but by the numbers."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

import psycopg
import pytest

from strom.errors import StromError
from strom.settings import PostgresSettings, Settings
from strom.store.mark_tables import LAKE, Mark, save_marks
from strom.store.partitions import MONTHLY, ensure_partitions, partitions_of
from strom.store.profile_tables import millis
from strom.store.reads import Reads
from strom.store.replay_tables import Progress, load_progress, save_progress
from strom.store.schema import connect, drop_schema, ensure_schema, schema_script
from strom.store.swap import KEPT, REPLAYED, swap
from strom.store.writes import EXECUTOR, PIPELINE, Writer

pytestmark = pytest.mark.stack
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MARK = Mark("sma-kafka", 0, 0, 99, 5)


@pytest.fixture
def live(stack: Settings, unique: Callable[[str], str]) -> Iterator[Settings]:
    """A database of its own with live tables and, in the schema `fresh`, a whole replay of them."""
    name = unique("swap").replace("-", "_")
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
    settings = stack.model_copy(update={"postgres": PostgresSettings(url=url)})
    fill(settings, 5, version=3)
    fill(settings.with_schema("fresh"), 7, version=1)
    yield settings
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def fill(settings: Settings, wh: int, version: int) -> None:
    """One slot that differs by `wh` and one that does not."""
    ensure_schema(settings.postgres_url)
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        work.ensure_partitions([millis(NOON)])
        for hour, energy in ((12, wh), (13, 1)):
            work.execute(
                "INSERT INTO load_profile (meter, start, import_wh, quality, samples, version) "
                "VALUES ('m1', %s, %s, 'measured', 15, %s)",
                *(NOON.replace(hour=hour), energy, version),
            )
            work.execute(
                "INSERT INTO tariff_profile (meter, tariff, start, import_wh, quality, samples, version) "
                "VALUES ('m1', 2, %s, %s, 'measured', 15, %s)",
                *(NOON.replace(hour=hour), energy, version),
            )
        work.execute("INSERT INTO meters (meter, first_seen) VALUES ('m1', %s)", NOON)
        save_marks(work, LAKE, [MARK])
        if settings.postgres.schema_name != "public":
            save_progress(work, Progress("plan", "lake", 4, "", 2, whole=True, complete=True))


def energies(settings: Settings, table: str = "quarter_hours") -> list[tuple[float, int]]:
    query = f"SELECT import_wh, version FROM {table} ORDER BY start".encode()  # noqa: S608
    with connect(settings.postgres_url) as connection:
        return [(float(wh), version) for wh, version in connection.execute(query).fetchall()]


def exchange(settings: Settings, new: str = "fresh", **options: bool) -> str:
    return swap(settings.postgres_url, "public", new, **options).former  # type: ignore[arg-type]


def test_every_table_is_either_computed_again_or_kept() -> None:
    made = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", schema_script().decode())
    assert sorted(made) == sorted((*REPLAYED, *KEPT))


def test_a_swap_and_back_again_under_a_reader_that_stays_connected(live: Settings) -> None:
    reads = Reads(live.postgres_url)

    def shown() -> list[float]:
        # Often enough that the driver prepares the statement.
        for _ in range(7):
            rows = reads.quarter_hours(NOON, NOON.replace(hour=14), "m1")
            total = reads.sums("day", (NOON.replace(hour=0), NOON.replace(day=2)), "UTC", "m1")
        return [*(float(row["import_wh"]) for row in rows), float(total[0]["import_wh"])]

    assert shown() == [5, 1, 6]
    former = exchange(live)
    assert shown() == [7, 1, 8]
    assert energies(live) == energies(live, "tariff_profile") == [(7, 4), (1, 3)]
    assert energies(live.with_schema(former)) == [(5, 3), (1, 3)]
    assert energies(live.with_schema(former), "tariff_profile") == [(5, 3), (1, 3)]
    exchange(live, former)
    assert shown() == [5, 1, 6]
    assert energies(live) == [(5, 5), (1, 3)]
    reads.close()


def test_what_people_entered_and_who_may_read_is_carried_over(live: Settings) -> None:
    with connect(live.postgres_url) as connection:
        connection.execute("UPDATE meters SET area = 'Graz', tariff = 'night'")
        connection.execute("GRANT SELECT ON load_profile TO PUBLIC")
    exchange(live)
    with connect(live.postgres_url) as connection:
        assert connection.execute("SELECT area, tariff FROM meters").fetchall() == [("Graz", "night")]
        granted = connection.execute(
            "SELECT privilege_type FROM information_schema.role_table_grants "
            "WHERE table_schema = 'public' AND table_name = 'load_profile' AND grantee = 'PUBLIC'"
        )
        assert granted.fetchall() == [("SELECT",)]


@pytest.mark.parametrize("shorter", [False, True])
def test_what_people_entered_about_meters_that_the_new_tables_have_not_heard_stays(
    live: Settings, shorter: bool
) -> None:
    with connect(live.postgres_url) as connection:
        connection.execute("INSERT INTO meters (meter, area, contract) VALUES ('not yet', 'Graz', 'K-7')")
        connection.execute(
            "INSERT INTO meters (meter, first_seen, tariff) VALUES ('long ago', %s, 'night')", (NOON,)
        )
        connection.execute("INSERT INTO meters (meter, first_seen) VALUES ('nothing entered', %s)", (NOON,))
        connection.execute("UPDATE fresh.meters SET area = 'Wien'")
    exchange(live, shorter=shorter)
    with connect(live.postgres_url) as connection:
        rows = connection.execute(
            "SELECT meter, first_seen, area, tariff, contract FROM meters ORDER BY meter"
        )
        assert rows.fetchall() == [
            ("long ago", None, None, "night", None),
            ("m1", NOON, None, None, None),
            ("not yet", None, "Graz", None, "K-7"),
        ]


def test_months_move_with_their_tables_and_are_made_in_the_set_that_is_written(live: Settings) -> None:
    ensure_partitions(live.postgres_url, [date(2021, 5, 1)])
    former = live.with_schema(exchange(live))
    with connect(live.postgres_url) as connection:
        apart = (
            "SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid JOIN pg_class t ON t.oid = i.inhparent "
            "WHERE p.relnamespace <> t.relnamespace"
        )
        assert connection.execute(apart).fetchall() == []
        assert date(2021, 5, 1) not in partitions_of(connection, MONTHLY[0])
    with connect(former.postgres_url) as connection:
        assert date(2021, 5, 1) in partitions_of(connection, MONTHLY[0])
    drop_schema(live.postgres_url, former.postgres.schema_name)
    ensure_partitions(live.postgres_url, [date(2021, 5, 1)])
    with connect(live.postgres_url) as connection:
        assert date(2021, 5, 1) in partitions_of(connection, MONTHLY[0])
    assert energies(live) == [(7, 4), (1, 3)]


def test_the_former_tables_know_how_far_the_lake_was(live: Settings) -> None:
    former = live.with_schema(exchange(live))
    with Writer(former.postgres_url) as writer, writer.work() as work:
        newest = load_progress(work)[0]
    assert (newest.lake_version, newest.whole, newest.complete) == (4, True, True)


def test_a_schema_that_is_not_there_or_is_live_is_refused(live: Settings) -> None:
    with pytest.raises(StromError, match="there is no schema nowhere"):
        exchange(live, "nowhere")
    with pytest.raises(StromError, match="public holds the live tables already"):
        exchange(live, "public")


def test_nothing_is_swapped_while_a_pipeline_writes(live: Settings) -> None:
    with Writer(live.postgres_url, PIPELINE) as writer:
        writer.open()
        with pytest.raises(StromError, match="the pipeline is writing"):
            exchange(live)
    assert energies(live) == [(5, 3), (1, 3)]


def test_nothing_is_swapped_while_an_executor_writes_and_one_that_has_nothing_to_do_is_no_hindrance(
    live: Settings,
) -> None:
    with Writer(live.postgres_url, EXECUTOR) as writer:
        with writer.part() as work:
            work.execute("SELECT FROM meters")
            with pytest.raises(StromError, match="the pipeline is writing"):
                exchange(live)
        exchange(live)
    assert energies(live) == [(7, 4), (1, 3)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE fresh.pipeline_replays SET complete = false", "does not hold a whole replay"),
        ("UPDATE fresh.pipeline_replays SET whole = false", "does not hold a whole replay"),
        ("UPDATE pipeline_marks SET raw_offset = 100", "readings came since fresh was built"),
        ("DELETE FROM fresh.load_profile WHERE import_wh = 7", "1 meters begin later in fresh than now"),
    ],
)
def test_tables_that_do_not_hold_what_the_live_ones_hold_are_refused(
    live: Settings, change: str, sentence: str
) -> None:
    with connect(live.postgres_url) as connection:
        connection.execute(change.encode())
    with pytest.raises(StromError, match=sentence):
        exchange(live)
    assert energies(live) == [(5, 3), (1, 3)]


def test_a_shorter_past_is_swapped_in_when_that_is_meant(live: Settings) -> None:
    with connect(live.postgres_url) as connection:
        connection.execute("DELETE FROM fresh.load_profile WHERE import_wh = 7")
    exchange(live, shorter=True)
    assert energies(live) == [(1, 3)]
