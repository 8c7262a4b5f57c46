"""Brings each series of quarter-hours forward by what came: in one step where all is normal, else by each reading.

It sees cells and points that were collected from Spark, and knows neither Spark nor the tables.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from strom.domain.acceptance import Point, Walked, is_normal, walk
from strom.domain.chain import Chain
from strom.domain.load_profile import Direction
from strom.domain.segments import Measure, Rules, Segment, Stretch
from strom.domain.tariffs import Owner, meter_of
from strom.store.segment_tables import Key, SeriesChange, Tail

Cell = Any  # a collected row of `cells`
OwnerOf = Callable[[Cell], Owner]
Whose = TypeVar("Whose", bound=Owner)
PointsOf = Callable[[Direction, Sequence[Owner]], Mapping[Owner, Sequence[Point]]]
RulesOf = Callable[[str], Rules]  # those of a meter

BEFORE_ALL = -1  # a slot before every slot


@dataclass(frozen=True, slots=True)
class _Names:
    """How a direction's columns are called in a cell; put together once and not for every cell."""

    samples: str
    counter: str
    normal: str
    held: str
    first_t: str
    first_v: str
    last_t: str
    last_v: str


_NAMES = {
    direction: _Names(*(f"{direction}_{field.name}" for field in fields(_Names))) for direction in Direction
}


@dataclass(frozen=True, slots=True)
class Update:
    """What a series' rows are from `since` on; `revised`: what else is stored is void.

    Its falls and jumps are those after `falls_after` and `jumps_after`.
    """

    change: SeriesChange
    chain: Chain
    since: int
    falls_after: int
    jumps_after: int
    revised: bool

    @property
    def key(self) -> Key:
        return self.change.key

    @property
    def meter(self) -> str:
        return meter_of(self.change.key[0])


@dataclass(slots=True)
class Forward:
    """The outcome of one pass: series that were brought forward, and the earliest late reading of others."""

    updates: list[Update] = field(default_factory=list)
    late: dict[Key, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Task:
    key: Key
    measure: Measure
    tail: Tail | None
    stretches: Sequence[Stretch]
    normal: bool
    replaced_after: int | None

    @property
    def meter(self) -> str:
        return meter_of(self.key[0])

    @property
    def carried(self) -> Segment | None:
        return self.tail.segment if self.tail else None

    @property
    def late(self) -> bool:
        return self.tail is not None and self.stretches[0].first_t <= self.tail.seen

    def one_step(self, rules: Rules) -> bool:
        """Every reading follows the one before it normally, also the first one the stored last."""
        if self.measure is Measure.POWER:
            return True
        if not self.normal or (self.tail is not None and self.tail.pending):
            return False
        first, last = self.stretches[0], self.carried
        return last is None or is_normal((last.last_t, last.last_v), (first.first_t, first.first_v), rules)


def bring_forward(
    cells: Mapping[Owner, Sequence[Cell]],
    tails: Mapping[Key, Tail],
    points_of: PointsOf,
    rules_of: RulesOf,
    replaced_after: Mapping[Key, int] | None = None,
) -> Forward:
    """`replaced_after` names the series that begin at an anchor, by its slot: what was stored later is void."""
    outcome = Forward()
    to_walk: list[_Task] = []
    for task in _tasks(cells, tails, replaced_after or {}):
        if task.late:
            outcome.late[task.key] = task.stretches[0].first_t
        elif task.one_step(rules := rules_of(task.meter)):
            outcome.updates.append(_merged(task, rules))
        else:
            to_walk.append(task)
    outcome.updates += _walked(to_walk, points_of, rules_of)
    return outcome


def by_owner(cells: Sequence[Cell], owner_of: Callable[[Cell], Whose]) -> dict[Whose, list[Cell]]:
    """The cells of each meter, or of each tariff, in order of time."""
    found: defaultdict[Whose, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: cell["cell"]):
        found[owner_of(cell)].append(cell)
    return dict(found)


def _tasks(
    cells: Mapping[Owner, Sequence[Cell]], tails: Mapping[Key, Tail], replaced_after: Mapping[Key, int]
) -> Iterator[_Task]:
    for owner, own in cells.items():
        for direction in Direction:
            task = _task((owner, direction), own, tails.get((owner, direction)), replaced_after)
            if task is not None:
                yield task


def _task(
    key: Key, own: Sequence[Cell], tail: Tail | None, replaced_after: Mapping[Key, int]
) -> _Task | None:
    names = _NAMES[key[1]]
    held = [cell for cell in own if cell[names.samples]]
    if not held:
        return None
    measure = Measure.COUNTER if held[0][names.counter] else Measure.POWER
    replaced = replaced_after.get(key)
    if tail is not None and tail.measure is not measure:
        if measure is Measure.POWER:
            return None  # a direction that has a counter is read by counter alone
        tail, replaced = None, BEFORE_ALL
    stretches = [_stretch(cell, names, measure) for cell in held]
    normal = all(cell[names.normal] for cell in held)
    return _Task(key, measure, tail, stretches, normal, replaced)


def _stretch(cell: Cell, names: _Names, measure: Measure) -> Stretch:
    first_v, last_v = cell[names.first_v], cell[names.last_v]
    inner = last_v - first_v if measure is Measure.COUNTER else int(cell[names.held] or 0)
    return Stretch(cell[names.first_t], first_v, cell[names.last_t], last_v, inner, cell[names.samples])


def _merged(task: _Task, rules: Rules) -> Update:
    chain = Chain.after(task.carried, task.measure, rules)
    for stretch in task.stretches:
        chain.accept(stretch)
    return _update(task, Walked(chain, tuple(chain.segments), ()))


def _walked(tasks: Sequence[_Task], points_of: PointsOf, rules_of: RulesOf) -> Iterator[Update]:
    for direction in Direction:
        own = [task for task in tasks if task.key[1] is direction]
        points = points_of(direction, [task.key[0] for task in own]) if own else {}
        for task in own:
            pending = task.tail.pending if task.tail else ()
            fresh = points[task.key[0]]
            found = walk(task.carried, [*pending, *fresh], task.measure, rules_of(task.meter))
            yield _update(task, found)


def _update(task: _Task, walked: Walked) -> Update:
    carried = task.carried
    seen = max(task.stretches[-1].last_t, task.tail.seen if task.tail else 0)
    change = SeriesChange(
        task.key, task.measure, seen, walked.pending, walked.settled, task.replaced_after
    )  # fmt: skip
    revised = task.replaced_after is not None or bool(task.tail and task.tail.pending)
    if carried is None:
        return Update(change, walked.chain, 0, BEFORE_ALL, BEFORE_ALL, revised)
    falls_after, jumps_after = carried.fall_t or carried.last_t, carried.jump_t or carried.last_t
    return Update(change, walked.chain, carried.slot, falls_after, jumps_after, revised)
