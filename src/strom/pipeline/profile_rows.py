"""Writes what the series say as rows with both directions: a version more where something changed, else nothing."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from strom.domain.load_profile import Direction
from strom.domain.reading import plain_thousandths, time_text
from strom.domain.slots import expected_samples
from strom.domain.statistics import Statistics, shown
from strom.pipeline import halves
from strom.pipeline.outbox import Outbox
from strom.pipeline.series import Update
from strom.store import profile_tables as tables
from strom.store.profile_tables import StoredRow
from strom.store.statistics_tables import Key, load_statistics
from strom.store.writes import Work
from strom.streams.topics import LOAD_PROFILE

Changed = Mapping[tuple[str, int], int | None]  # meter and slot: its import in mWh, None where there is none

_slot_text = lru_cache(maxsize=1024)(time_text)  # nearly all meters complete the same slots


@dataclass(frozen=True, slots=True)
class Written:
    """Of the rows that were looked at: those that are others now, and all."""

    changed: Changed
    judged: Changed


def write_rows(
    work: Work, outbox: Outbox, updates: Sequence[Update], intervals: Mapping[str, int | None]
) -> Written:
    """Merge the directions' slots into `load_profile` and tell the topic what changed."""
    telling = [(update.meter, update) for update in halves.telling_rows(updates)]
    spans = halves.joined((meter, update.since, update.until) for meter, update in telling)
    stored = tables.load_rows(work, spans)
    wanted = halves.wanted_rows(telling, {key: each.row for key, each in stored.items()})
    changed, void = [], []
    for key, row in wanted.items():
        old = stored.get(key)
        if row is None:
            void.append(key)
        elif old is None or old.row != row:
            expected = expected_samples(intervals.get(key[0]))
            changed.append(StoredRow(key[0], row, expected, old.version + 1 if old else 1))
    tables.save_rows(work, changed)
    tables.delete_rows(work, void)
    _tell(work, outbox, changed)
    for meter, start in void:
        outbox.put(LOAD_PROFILE, topic_key(meter, start), None)
    judged = {key: row.imported.mwh if row and row.imported else None for key, row in wanted.items()}
    others = {(each.meter, each.row.start) for each in changed} | set(void)
    return Written({key: judged[key] for key in others}, judged)


def tell_statistics(work: Work, outbox: Outbox, keys: Set[Key]) -> None:
    """Quarter-hours whose energy is as it was, but not what power and voltages were in them."""
    if keys:
        _tell(work, outbox, tables.rows_at(work, keys).values())


def _tell(work: Work, outbox: Outbox, rows: Collection[StoredRow]) -> None:
    statistics = load_statistics(work, ((each.meter, each.row.start) for each in rows))
    for each in rows:
        key = (each.meter, each.row.start)
        outbox.put(LOAD_PROFILE, topic_key(*key), as_json(each, statistics.get(key, {})))


def write_gaps(work: Work, updates: Sequence[Update]) -> None:
    """Merge the directions' gaps into `gaps`."""
    telling = [(update.meter, update) for update in halves.telling_gaps(updates)]
    spans = halves.joined((meter, halves.first_gap(update), update.until) for meter, update in telling)
    stored = tables.load_gaps(work, spans) if spans else {}
    tables.save_gaps(work, halves.changed_gaps(telling, stored))


def topic_key(meter: str, start: int) -> str:
    return f"{meter}|{_slot_text(start)}"


def as_json(stored: StoredRow, statistics: Statistics) -> dict[str, Any]:
    """A quarter-hour as the topic carries it; what a direction does not have is left out."""
    row = stored.row
    value: dict[str, Any] = {"v": 1, "meter": stored.meter, "start": _slot_text(row.start)}
    for direction, half in ((Direction.IMPORT, row.imported), (Direction.EXPORT, row.exported)):
        if half is not None:
            if half.mwh is not None:
                value[f"{direction}_wh"] = plain_thousandths(half.mwh)
            value[f"{direction}_quality"] = half.quality.value
    value |= {"quality": row.quality.value, "samples": row.samples}
    if stored.expected is not None:
        value["expected"] = stored.expected
    value |= {name: plain_thousandths(number) for name, number in shown(statistics).items()}
    return value | {"version": stored.version, "flags": list(row.flags)}
