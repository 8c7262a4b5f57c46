"""Where late readings lie far behind the rest: the few quarter-hours around them that are made anew from the lake.

A window begins behind the last stored segment that nothing in it can change, and ends with a stored segment from which on
all is as it was. Whether that holds is seen once its readings are there; it knows neither Spark nor the tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from strom.domain.alerts import WINDOW_MS, window_of
from strom.domain.load_profile import Direction
from strom.domain.runs import Run
from strom.domain.segments import Measure, Rules, Segment
from strom.domain.slots import SLOT_MS, slot_of
from strom.pipeline.process.folded import Cell, Folded
from strom.pipeline.series import Rejoin, Update, rejoined, tasks_of
from strom.store.segment_tables import Around, Key, Tail

MOST_WINDOWS = 200  # of a meter in a pass; with more of them its readings are read to the end
_NEAR_MS = 2 * SLOT_MS  # late readings no further apart share a window


@dataclass(frozen=True, slots=True)
class LateWindow:
    """The late readings from `first` to `last`, and for each series the stored segments around them."""

    first: int
    last: int
    around: Mapping[Key, Rejoin]

    @classmethod
    def among(
        cls, first: int, last: int, series: Iterable[Key], around: Mapping[tuple[Key, int], Around]
    ) -> "LateWindow":
        """With those of the stored segments that are around it."""
        found: dict[Key, Rejoin] = {}
        for key in series:
            before, after = around.get((key, first), ([], []))
            # The first segment behind an outage, and the next one, depend on where the outage began.
            place = 1 if len(after) > 1 and after[1].run_start != after[1].slot else 0
            if before and len(after) > place + 1:
                is_sound = all(map(_is_sound, (*before, *after[: place + 1])))
                found[key] = Rejoin(before[0], after[place], after[place + 1], is_sound)
        return cls(first, last, found)

    @property
    def begin(self) -> int:
        """Readings from this time on are read."""
        known = [rejoin.anchor.last_t + 1 for rejoin in self.around.values()]
        return min([slot_of(self.first), window_of(self.first), *known])

    @property
    def end(self) -> int:
        """Readings before it are read."""
        known = [rejoin.replaced.slot + SLOT_MS for rejoin in self.around.values()]
        return max([slot_of(self.last) + SLOT_MS, window_of(self.last) + WINDOW_MS, *known])

    def in_slots(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of the quarter-hours that late readings lie in."""
        return [cell for cell in cells if slot_of(self.first) <= cell.start < slot_of(self.last) + SLOT_MS]

    def in_windows(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of the ten minutes of voltages that late readings lie in."""
        return [
            cell for cell in cells if window_of(self.first) <= cell.start < window_of(self.last) + WINDOW_MS
        ]

    def is_closed(self, settled_ms: int, tails: Mapping[Key, Tail], runs: Iterable[Run]) -> bool:
        """Whether it may be made anew by itself: what lies around it is stored and sound, and no run reaches into it."""
        touched = {key for key, tail in tails.items() if tail.seen >= self.first}
        return (
            bool(touched)
            and touched == self.around.keys()
            and all(tails[key].measure is Measure.COUNTER for key in touched)
            and all(rejoin.is_sound for rejoin in self.around.values())
            and self.end <= min(slot_of(settled_ms), window_of(settled_ms))
            and not any(
                run.start <= self.last and (run.until is None or run.until >= self.first) for run in runs
            )
        )

    def updates(self, folded: Folded, part: int, rules: Rules) -> list[Update] | None:
        """What its series are now; None where that changes what follows it."""
        found: list[Update] = []
        for owner, cells in folded.series(part):
            for direction in Direction:
                key = (owner, direction)
                if key not in self.around:
                    if any(cell.part(direction).samples for cell in cells):
                        return None
                    continue
                rejoin = self.around[key]
                own = [cell for cell in cells if cell.start < rejoin.replaced.slot + SLOT_MS]
                tail = Tail(Measure.COUNTER, rejoin.anchor.last_t, (), rejoin.anchor)
                tasks = [task for task in tasks_of(owner, own, {key: tail}, {}) if task.key == key]
                update = rejoined(tasks[0], rejoin, rules) if tasks else None
                if update is None:
                    return None
                found.append(update)
        return found if {update.key for update in found} == self.around.keys() else None


def spans_of(late: Sequence[Cell]) -> list[tuple[int, int]]:
    """The first and the last time of late readings that lie near each other."""
    spans: list[tuple[int, int]] = []
    for cell in late:
        assert cell.first_t is not None  # noqa: S101 - it has readings
        if spans and slot_of(cell.start) - slot_of(spans[-1][1]) <= _NEAR_MS:
            spans[-1] = (spans[-1][0], cell.last_t)
        else:
            spans.append((cell.first_t, cell.last_t))
    return spans


def closed_windows(windows: Sequence[LateWindow], are_closed: Sequence[bool]) -> int:
    """How many of the first are closed and apart from each other."""
    for place, (window, is_closed) in enumerate(zip(windows, are_closed, strict=True)):
        if not is_closed or place >= MOST_WINDOWS or (place and not _apart(windows[place - 1], window)):
            return place
    return len(windows)


def _is_sound(segment: Segment) -> bool:
    seen = (segment.reset, segment.jump, segment.trail, segment.fall_t, segment.jump_t)
    return not any(seen) and segment.streak >= 2


def _apart(before: LateWindow, after: LateWindow) -> bool:
    """No reading and no segment is in both."""
    return before.end <= after.begin and all(
        before.around[key].replaced.slot < rejoin.anchor.slot
        for key, rejoin in after.around.items()
        if key in before.around
    )
