"""Quarter-hours of the meters that count by tariff: a second pass over what a batch brought of them, if anything.

Most meters send no tariff registers; for those all of it is one flag in the cells.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from strom.domain.slots import expected_samples
from strom.domain.tariffs import Tariff
from strom.pipeline import cells as native
from strom.pipeline import halves
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.profile import update_series
from strom.pipeline.registers import METER_TARIFFS
from strom.pipeline.series import Cell, Update
from strom.store import tariff_tables as tables
from strom.store.profile_tables import StoredRow
from strom.store.writes import Work

Intervals = Mapping[str, int | None]  # of each meter


def update_tariffs(
    work: Work,
    readings: DataFrame,
    cells: Sequence[Cell],
    archive: Archive,
    limits: Limits,
    intervals: Intervals,
) -> None:
    """Bring the quarter-hours and gaps of every touched tariff up to date."""
    if not any(cell["has_tariffs"] for cell in cells):
        return
    moments = METER_TARIFFS.moments(readings)
    own = native.collected(native.series_cells(moments, limits, METER_TARIFFS.by))
    updates = update_series(work, moments, own, archive, limits, METER_TARIFFS)
    _write_rows(work, updates, intervals)
    _write_gaps(work, updates)


def _write_rows(work: Work, updates: Sequence[Update], intervals: Intervals) -> None:
    """A version more where something changed, else nothing."""
    telling = _owned(halves.telling_rows(updates))
    spans = halves.earliest((tariff, update.since) for tariff, update in telling)
    stored = tables.load_rows(work, spans.items())
    wanted = halves.wanted_rows(telling, {key: each.row for key, each in stored.items()})
    changed = {}
    for key, row in wanted.items():
        old, meter = stored.get(key), key[0].meter
        if row is not None and (old is None or old.row != row):
            expected = expected_samples(intervals.get(meter))
            changed[key] = StoredRow(meter, row, expected, old.version + 1 if old else 1)
    tables.save_rows(work, changed)
    tables.delete_rows(work, [key for key, row in wanted.items() if row is None])


def _write_gaps(work: Work, updates: Sequence[Update]) -> None:
    telling = _owned(halves.telling_gaps(updates))
    spans = halves.earliest((tariff, halves.first_gap(update)) for tariff, update in telling)
    stored = tables.load_gaps(work, spans.items()) if spans else {}
    tables.save_gaps(work, halves.changed_gaps(telling, stored))


def _owned(updates: Sequence[Update]) -> list[tuple[Tariff, Update]]:
    return [(owner, update) for update in updates if isinstance(owner := update.key[0], Tariff)]
