"""Look-ups in a year of rows go by the primary key, in the months they ask for, whatever Postgres knows of the tables."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from strom.domain.load_profile import Direction
from strom.domain.slots import SLOT_MS
from strom.settings import Settings
from strom.store import habit_tables, profile_tables, segment_tables, statistics_tables
from strom.store.partitions import ensure_partitions, months_between
from strom.store.profile_tables import millis
from strom.store.schema import connect, ensure_schema
from strom.store.writes import Work
from tests.store.conftest import own_database
from tests.store.plans import BIG, ExplainedWork, fill

pytestmark = pytest.mark.stack
METERS = 2_000
FIRST, LAST = datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 12, 31, 12, tzinfo=UTC)
JUNE = millis(datetime(2024, 6, 15, 12, tzinfo=UTC))
DECEMBER = millis(datetime(2024, 12, 10, tzinfo=UTC))
SOME = [f"m{number}" for number in range(1, METERS, 40)]
IMPORT = Direction.IMPORT

Lookup = Callable[[Work], object]
LOOKUPS: dict[str, tuple[Lookup, set[str]]] = {
    "rows_at": (lambda work: profile_tables.rows_at(work, [(m, JUNE) for m in SOME]), {"2024_06"}),
    "load_rows": (
        lambda work: profile_tables.load_rows(work, [(m, DECEMBER, None) for m in SOME]),
        {"2024_12"},
    ),
    "load_statistics": (
        lambda work: statistics_tables.load_statistics(work, [(m, JUNE) for m in SOME]),
        {"2024_06"},
    ),
    "load_anchors": (
        lambda work: segment_tables.load_anchors(work, [((m, IMPORT), JUNE + 1) for m in SOME]),
        {"2024_06"},
    ),
    "load_around": (
        lambda work: segment_tables.load_around(work, [((m, IMPORT), JUNE + 1, JUNE + 2) for m in SOME]),
        {"2024_06"},
    ),
    "load_tails": (lambda work: segment_tables.load_tails(work, SOME), {"2024_12"}),
    "last_slots": (lambda work: habit_tables.last_slots(work, SOME), {"2024_12"}),
    "high_imports": (
        lambda work: habit_tables.high_imports(work, [(m, DECEMBER, 500) for m in SOME]),
        {"2024_12"},
    ),
    "imports_in": (
        lambda work: habit_tables.imports_in(work, [(m, (JUNE, JUNE + 4 * SLOT_MS)) for m in SOME]),
        {"2024_06"},
    ),
    "sums_in": (
        lambda work: habit_tables.sums_in(
            work, habit_tables.LEAST_IMPORT, [(m, (JUNE, JUNE + 4 * SLOT_MS)) for m in SOME]
        ),
        {"2024_06"},
    ),
}


def days(step: int) -> Iterable[str]:
    return [f"{FIRST + timedelta(day):%Y-%m-%d}" for day in range(0, (LAST - FIRST).days + 1, step)]


@pytest.fixture(scope="module", params=["none", "stale", "fresh"])
def work(request: pytest.FixtureRequest, stack: Settings) -> Iterator[ExplainedWork]:
    """A year of rows, every fifth day and the one asked for, with these statistics.

    Stale ones, and the plans that are kept, are of a time when each month had three rows.
    """
    with own_database(stack, f"plans-{request.param}") as url:
        ensure_schema(url)
        ensure_partitions(url, months_between(millis(FIRST), millis(LAST) + 40 * 86_400_000))
        with connect(url) as connection:
            connection.autocommit = True
            names = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_\\d{4}_\\d\\d$'"
            for (name,) in connection.execute(names).fetchall():
                connection.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = false)".encode())
            explained = ExplainedWork(connection)
            if request.param == "stale":
                fill(connection, 1, days(10))
                connection.execute("ANALYZE")
                for lookup, _ in LOOKUPS.values():
                    lookup(explained)
                for table in BIG:
                    connection.execute(f"DELETE FROM {table}".encode())  # noqa: S608
            fill(connection, METERS, sorted({*days(5), "2024-06-15", "2024-12-31"}))
            connection.execute(
                "INSERT INTO profile_series SELECT meter, direction, 'counter', slot, '{}', slot FROM profile_segments "
                "WHERE slot = %s",
                (millis(LAST),),
            )
            if request.param == "fresh":
                connection.execute("ANALYZE")
            yield explained


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_look_up_goes_by_the_primary_key_through_the_months_of_its_span(
    work: ExplainedWork, name: str
) -> None:
    lookup, span = LOOKUPS[name]
    work.scans.clear()
    lookup(work)
    assert {scan.month for scan in work.scans if scan.month < "2025"} == span
    assert not [scan for scan in work.scans if not scan.index.endswith("_pkey")]
