"""Quarter-hours with both directions, as people see them: a pure function of the set of a meter's readings.

`profile` is the whole function at once. The pipeline reaches the same rows in steps, from the same parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from strom.domain.acceptance import Point, series, walk
from strom.domain.chain import Chain
from strom.domain.segments import Measure, Quality, Rules, SlotEnergy


class Direction(StrEnum):
    IMPORT = "import"
    EXPORT = "export"


WORST_FIRST = (Quality.MISSING, Quality.SUBSTITUTE, Quality.CALCULATED, Quality.MEASURED)


@dataclass(frozen=True, slots=True)
class Half:
    """One direction of a row."""

    mwh: int | None
    quality: Quality
    samples: int
    reset: bool = False
    jump: bool = False

    @classmethod
    def of(cls, slot: SlotEnergy) -> "Half":
        return cls(slot.mwh, slot.quality, slot.samples, slot.reset, slot.jump)


Halves = Mapping[Direction, Half]


@dataclass(frozen=True, slots=True)
class Row:
    """A quarter-hour of a meter; a direction that has no slot there is None."""

    start: int
    imported: Half | None
    exported: Half | None

    @property
    def quality(self) -> Quality:
        found = {half.quality for half in (self.imported, self.exported) if half is not None}
        return next(quality for quality in WORST_FIRST if quality in found)

    @property
    def samples(self) -> int:
        return max(half.samples for half in (self.imported, self.exported) if half is not None)

    @property
    def flags(self) -> tuple[str, ...]:
        named = ((Direction.IMPORT, self.imported), (Direction.EXPORT, self.exported))
        return tuple(
            f"{direction}-{flag}"
            for direction, half in named
            if half is not None
            for flag, set_ in (("reset", half.reset), ("jump", half.jump))
            if set_
        )


def row_of(start: int, halves: Halves) -> Row:
    return Row(start, halves.get(Direction.IMPORT), halves.get(Direction.EXPORT))


@dataclass(frozen=True, slots=True)
class Sample:
    """What one reading says about one direction: its counter in mWh, its power in mW, or nothing."""

    at: int
    counter: int | None = None
    power: int | None = None


def evaluate(samples: Iterable[Sample], rules: Rules) -> Chain:
    """One direction's whole history; power counts only where no reading at all carries the counter."""
    taken = list(samples)
    counters: list[Point] = [(each.at, each.counter) for each in taken if each.counter is not None]
    if counters:
        return walk(None, series(counters), Measure.COUNTER, rules).chain
    powers: list[Point] = [(each.at, each.power) for each in taken if each.power is not None]
    return walk(None, series(powers), Measure.POWER, rules).chain


def profile(chains: Mapping[Direction, Chain]) -> list[Row]:
    """The rows of a meter from its directions' chains, in order of time."""
    halves: dict[int, dict[Direction, Half]] = {}
    for direction, chain in chains.items():
        for slot in chain.rows:
            halves.setdefault(slot.start, {})[direction] = Half.of(slot)
    return [row_of(start, halves[start]) for start in sorted(halves)]
