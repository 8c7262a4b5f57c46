"""The quarter-hours as the pure function gives them from the set of readings, beside those that are stored."""

from collections import defaultdict
from decimal import Decimal
from typing import Any

from strom.domain.load_profile import Direction, Half, Row, Sample, evaluate, profile
from strom.domain.reading import epoch_ms
from strom.pipeline.limits import rules_of
from strom.settings import Settings
from strom.store.schema import connect

Rows = dict[tuple[str, int], tuple[Decimal | None, Decimal | None, str]]


def stored_rows(settings: Settings) -> Rows:
    query = "SELECT meter, extract(epoch FROM start), import_wh, export_wh, quality FROM load_profile"
    with connect(settings.postgres_url) as connection:
        return {
            (row[0], int(row[1]) * 1000): (row[2], row[3], row[4])
            for row in connection.execute(query).fetchall()
        }


def expected_rows(settings: Settings, readings: list[dict[str, Any]]) -> Rows:
    """The quarter-hours as the pure function gives them, from the set of readings."""
    by_meter: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for reading in readings:
        by_meter[reading["meter"]].append(reading)
    rules = rules_of(settings.rules)
    found: Rows = {}
    for meter, own in by_meter.items():
        chains = {way: evaluate([_sample(reading, way) for reading in own], rules) for way in Direction}
        found |= {(meter, row.start): _plain(row) for row in profile(chains)}
    return found


def _sample(reading: dict[str, Any], way: Direction) -> Sample:
    def milli(field: str) -> int | None:
        return round(Decimal(str(reading[field])) * 1000) if field in reading else None

    return Sample(epoch_ms(reading["at"]), milli(f"{way.value}_wh"), milli(f"{way.value}_w"))


def _plain(row: Row) -> tuple[Decimal | None, Decimal | None, str]:
    def watt_hours(half: Half | None) -> Decimal | None:
        return None if half is None or half.mwh is None else Decimal(half.mwh).scaleb(-3)

    return watt_hours(row.imported), watt_hours(row.exported), str(row.quality)
