"""The statistics of quarter-hours as the table holds them: arrays in the order of `QUANTITIES`."""

from collections.abc import Iterable, Mapping

from strom.domain.statistics import QUANTITIES, Band, Statistics
from strom.store.profile_tables import millis, moment
from strom.store.writes import Work, array_of

Key = tuple[str, int]  # meter and slot


def load_statistics(work: Work, keys: Iterable[Key]) -> dict[Key, Statistics]:
    work.stage(
        "wanted_statistics",
        "meter text, start timestamptz",
        ((meter, moment(start)) for meter, start in keys),
    )
    found = work.rows(
        "SELECT s.meter, s.start, s.totals, s.counts, s.lows, s.highs "
        "FROM wanted_statistics w JOIN slot_statistics s ON s.meter = w.meter AND s.start = w.start"
    )
    return {
        (meter, millis(start)): {
            name: Band(int(total), count, low, high)
            for name, total, count, low, high in zip(QUANTITIES, *columns, strict=True)
            if count
        }
        for meter, start, *columns in found
    }


def save_statistics(work: Work, statistics: Mapping[Key, Statistics]) -> None:
    if not statistics:
        return
    work.stage(
        "new_statistics",
        "LIKE slot_statistics",
        ((meter, moment(start), *_columns(found)) for (meter, start), found in statistics.items()),
    )
    work.execute(
        "INSERT INTO slot_statistics SELECT * FROM new_statistics ON CONFLICT (meter, start) DO UPDATE SET "
        "totals = excluded.totals, counts = excluded.counts, lows = excluded.lows, highs = excluded.highs"
    )


def _columns(statistics: Statistics) -> tuple[str, ...]:
    bands = [statistics.get(name) for name in QUANTITIES]
    return (
        array_of(band.total if band else 0 for band in bands),
        array_of(band.count if band else 0 for band in bands),
        array_of(band.low if band else None for band in bands),
        array_of(band.high if band else None for band in bands),
    )
