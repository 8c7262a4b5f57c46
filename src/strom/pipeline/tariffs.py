"""Quarter-hours and gaps of the meters that count by tariff; most send no tariff registers."""

from collections.abc import Mapping, Sequence

from strom.domain.slots import expected_samples
from strom.domain.tariffs import Tariff
from strom.pipeline import halves
from strom.pipeline.series import Update
from strom.store import tariff_tables as tables
from strom.store.profile_tables import StoredRow
from strom.store.writes import Work

Intervals = Mapping[str, int | None]  # of each meter


def write_tariffs(work: Work, updates: Sequence[Update], intervals: Intervals) -> None:
    """Bring the quarter-hours and gaps of every touched tariff up to date."""
    if updates:
        _write_rows(work, updates, intervals)
        _write_gaps(work, updates)


def _write_rows(work: Work, updates: Sequence[Update], intervals: Intervals) -> None:
    """A version more where something changed, else nothing."""
    telling = _owned(halves.telling_rows(updates))
    spans = halves.joined((tariff, update.since, update.until) for tariff, update in telling)
    stored = tables.load_rows(work, spans)
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
    spans = halves.joined((tariff, halves.first_gap(update), update.until) for tariff, update in telling)
    stored = tables.load_gaps(work, spans) if spans else {}
    tables.save_gaps(work, halves.changed_gaps(telling, stored))


def _owned(updates: Sequence[Update]) -> list[tuple[Tariff, Update]]:
    return [(owner, update) for update in updates if isinstance(owner := update.key[0], Tariff)]
