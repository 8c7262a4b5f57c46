"""Sums by local hour, day and month, over the days on which the clocks change."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from strom.domain.load_profile import Half, Row
from strom.domain.segments import Quality
from strom.domain.slots import SLOT_MS
from strom.settings import PostgresSettings, Settings
from strom.store.profile_tables import StoredRow, save_rows
from strom.store.reads import Reads
from strom.store.schema import connect, ensure_schema
from strom.store.writes import Writer

pytestmark = pytest.mark.stack


def fill(settings: Settings, meter: str, first: str, last: str) -> None:
    """1 Wh in and 2 Wh out in each quarter-hour between two moments."""
    begin, end = (int(datetime.fromisoformat(text).timestamp()) * 1000 for text in (first, last))
    halves = Half(1000, Quality.MEASURED, 3), Half(2000, Quality.MEASURED, 3)
    rows = [StoredRow(meter, Row(start, *halves), None, 1) for start in range(begin, end, SLOT_MS)]
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        save_rows(work, rows)


def sums(settings: Settings, meter: str, unit: str) -> list[tuple[Any, ...]]:
    query = (
        "SELECT to_char(start AT TIME ZONE 'Europe/Vienna', 'MM-DD HH24'), import_wh, export_wh, slots, of_slots, quality "
        "FROM energy_sums(%s) WHERE meter = %s ORDER BY start"
    )
    with connect(settings.postgres_url) as connection:
        return connection.execute(query.encode(), (unit, meter)).fetchall()


@pytest.mark.parametrize(
    ("first", "last", "day", "slots"),
    [
        ("2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00", "03-29 00", 92),
        ("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00", "10-25 00", 100),
        ("2026-11-15T00:00+01:00", "2026-11-16T00:00+01:00", "11-15 00", 96),
    ],
)
def test_a_day_has_the_quarter_hours_of_its_local_day(
    stack: Settings, unique: Callable[[str], str], first: str, last: str, day: str, slots: int
) -> None:
    meter = unique("sums")
    fill(stack, meter, first, last)
    assert sums(stack, meter, "day") == [(day, Decimal(slots), Decimal(2 * slots), slots, slots, "measured")]
    hours = sums(stack, meter, "hour")
    assert len(hours) == slots // 4
    assert {hour[1:] for hour in hours} == {(Decimal(4), Decimal(8), 4, 4, "measured")}


def test_a_month_tells_how_much_of_it_is_there_and_its_worst_quality(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    meter = unique("sums")
    fill(stack, meter, "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00")
    lost = StoredRow(
        meter, Row(1_793_055_600_000, Half(None, Quality.MISSING, 0), None), None, 1
    )  # 27 October
    with Writer(stack.postgres_url) as writer, writer.work() as work:
        save_rows(work, [lost])
    assert sums(stack, meter, "month") == [
        ("10-01 00", Decimal(100), Decimal(200), 100, 31 * 96 + 4, "missing")
    ]


@pytest.mark.parametrize("unit", ["hour", "day", "week", "month", "year"])
def test_a_span_gives_the_whole_periods_that_begin_in_it(
    stack: Settings, unique: Callable[[str], str], unit: str
) -> None:
    meter = unique("sums")
    fill(stack, meter, "2025-10-20T00:00+02:00", "2026-04-10T00:00+02:00")
    columns = "SELECT start, import_wh, export_wh, slots, of_slots, quality"
    spans = [
        ("2026-01-01T00:00+01:00", "2026-03-29T00:00+01:00"),
        ("2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"),
        ("2025-01-01T00:00+01:00", "2025-12-28T10:07+01:00"),
        ("2025-10-26T02:00+02:00", "2025-10-26T02:00+01:00"),
        ("2026-02-01T00:00+01:00", "2026-02-01T00:00+01:00"),
    ]
    with connect(stack.postgres_url) as connection:
        for since, until in spans:
            whole = connection.execute(
                f"{columns} FROM energy_sums(%s) WHERE meter = %s AND start >= %s AND start < %s ORDER BY 1".encode(),
                (unit, meter, since, until),
            )
            part = connection.execute(
                f"{columns} FROM energy_sums_between(%s, 'Europe/Vienna', %s, %s) WHERE meter = %s ORDER BY 1".encode(),
                (unit, since, until, meter),
            )
            assert part.fetchall() == whole.fetchall()


@pytest.mark.parametrize("meter", ["known", None])
def test_the_first_quarter_hour_is_the_earliest_of_the_meter_or_of_all(
    database: str, stack: Settings, meter: str | None
) -> None:
    own = stack.model_copy(update={"postgres": PostgresSettings(url=database)})
    ensure_schema(database)
    reads = Reads(database)
    assert reads.first_slot(meter) is None
    fill(own, "known", "2025-12-31T22:00+00:00", "2026-01-01T02:00+00:00")
    fill(own, "other", "2026-01-02T00:00+00:00", "2026-01-02T02:00+00:00")
    with connect(database) as connection:
        connection.execute("INSERT INTO meters (meter) VALUES ('known'), ('other'), ('never heard')")
    assert reads.first_slot(meter) == datetime.fromisoformat("2025-12-31T22:00+00:00")
    reads.close()
