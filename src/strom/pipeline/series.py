"""Brings each series of quarter-hours forward by what came: in one step where all is normal, else by each reading.

It sees folded cells and points, and knows neither Spark nor the tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from strom.domain.acceptance import Point, Walked, is_normal, walk
from strom.domain.chain import Chain
from strom.domain.load_profile import Direction
from strom.domain.segments import Measure, Rules, Segment, Stretch
from strom.domain.tariffs import Owner, meter_of
from strom.pipeline.process.folded import Part, SeriesCell
from strom.store.segment_tables import Key, SeriesChange, Tail

Whose = TypeVar("Whose", bound=Owner)

BEFORE_ALL = -1  # a slot before every slot


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Stored segments around late readings: the last one before them, the one that ends behind them, and the next.

    `is_sound`: none of them, nor one between them, has seen anything but readings that followed each other normally.
    """

    anchor: Segment
    replaced: Segment
    following: Segment
    is_sound: bool


@dataclass(frozen=True, slots=True)
class Update:
    """What a series' rows are from `since` on, up to `until`; `revised`: what else is stored there is void.

    Its falls and jumps are those after `falls_after` and `jumps_after`; with `until` there are none.
    """

    change: SeriesChange
    chain: Chain
    since: int
    falls_after: int
    jumps_after: int
    revised: bool
    until: int | None = None

    @property
    def key(self) -> Key:
        return self.change.key

    @property
    def meter(self) -> str:
        return meter_of(self.change.key[0])


@dataclass(frozen=True, slots=True)
class Task:
    """What came of one series. `replaced_after`: it begins at an anchor in this slot, and what was stored later is void."""

    key: Key
    measure: Measure
    tail: Tail | None
    stretches: Sequence[Stretch]
    normal: bool
    replaced_after: int | None

    @property
    def carried(self) -> Segment | None:
        return self.tail.segment if self.tail else None

    def is_one_step(self, rules: Rules) -> bool:
        """Every reading follows the one before it normally, also the first one the stored last."""
        if self.measure is Measure.POWER:
            return True
        if not self.normal or (self.tail is not None and self.tail.pending):
            return False
        first, last = self.stretches[0], self.carried
        return last is None or is_normal((last.last_t, last.last_v), (first.first_t, first.first_v), rules)

    def merged(self, rules: Rules) -> Update:
        """Forward in one step."""
        chain = Chain.after(self.carried, self.measure, rules)
        for stretch in self.stretches:
            chain.accept(stretch)
        return self._update(Walked(chain, tuple(chain.segments), ()))

    def walked(self, points: Sequence[Point], rules: Rules) -> Update:
        """Forward by each of its readings."""
        pending = self.tail.pending if self.tail else ()
        return self._update(walk(self.carried, [*pending, *points], self.measure, rules))

    def _update(self, walked: Walked) -> Update:
        carried = self.carried
        seen = max(self.stretches[-1].last_t, self.tail.seen if self.tail else 0)
        change = SeriesChange(
            self.key, self.measure, seen, walked.pending, walked.settled, self.replaced_after
        )  # fmt: skip
        revised = self.replaced_after is not None or bool(self.tail and self.tail.pending)
        if carried is None:
            return Update(change, walked.chain, 0, BEFORE_ALL, BEFORE_ALL, revised)
        falls_after, jumps_after = carried.fall_t or carried.last_t, carried.jump_t or carried.last_t
        return Update(change, walked.chain, carried.slot, falls_after, jumps_after, revised)


def rejoined(task: Task, around: Rejoin, rules: Rules) -> Update | None:
    """What a late stretch of a series makes of the segments around it; None where what follows them is another now."""
    if task.measure is not Measure.COUNTER or not task.is_one_step(rules):
        return None
    chain = Chain.after(around.anchor, task.measure, rules)
    for stretch in task.stretches:
        chain.accept(stretch)
    segments = tuple(chain.segments)
    if not chain.rejoins(around.replaced, around.following):
        return None
    until = around.following.slot
    change = SeriesChange(task.key, task.measure, None, (), segments, around.anchor.slot, until)
    return Update(change, chain, around.anchor.slot, BEFORE_ALL, BEFORE_ALL, revised=True, until=until)


def tasks_of(
    owner: Owner,
    cells: Sequence[SeriesCell],
    tails: Mapping[Key, Tail],
    replaced_after: Mapping[Key, int],
) -> Iterator[Task]:
    """Those of import and export, as far as anything came; `cells` are in order of time."""
    for direction in Direction:
        key = (owner, direction)
        task = _task(
            key,
            [part for cell in cells if (part := cell.part(direction)).samples],
            tails.get(key),
            replaced_after,
        )
        if task is not None:
            yield task


def _task(
    key: Key, parts: Sequence[Part], tail: Tail | None, replaced_after: Mapping[Key, int]
) -> Task | None:
    if not parts:
        return None
    measure = Measure.COUNTER if parts[0].counter else Measure.POWER
    replaced = replaced_after.get(key)
    if tail is not None and tail.measure is not measure:
        if measure is Measure.POWER:
            return None  # a direction that has a counter is read by counter alone
        tail, replaced = None, BEFORE_ALL
    stretches = [_stretch(part, measure) for part in parts]
    return Task(key, measure, tail, stretches, all(part.normal for part in parts), replaced)


def _stretch(part: Part, measure: Measure) -> Stretch:
    inner = part.last_v - part.first_v if measure is Measure.COUNTER else int(part.held or 0)
    return Stretch(part.first_t, part.first_v, part.last_t, part.last_v, inner, part.samples)
