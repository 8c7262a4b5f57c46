"""What the quarter-hour rules keep of the readings: a segment per slot and direction, and what comes of it.

Times are UTC milliseconds, energies mWh: whole numbers, so that no sum depends on the order of its parts.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Rules:
    """The settable limits of the energy rules, in the units the rules count in."""

    limit_w: int
    noise_mwh: int
    exact_ms: int
    linear_ms: int


class Measure(StrEnum):
    """Where a direction's energy comes from; the running total is kept in `units_per_mwh` parts of a mWh."""

    COUNTER = "counter"
    POWER = "power"  # values in mW, each held until the next reading: the total counts mW·ms

    @property
    def units_per_mwh(self) -> int:
        return 1 if self is Measure.COUNTER else 3_600_000


class Border(StrEnum):
    EXACT = "exact"
    INTERPOLATED = "interpolated"
    UNKNOWN = "unknown"
    BEFORE_FIRST = "before-first"  # no reading at or before it: the slot that begins there does not exist


class Quality(StrEnum):
    MEASURED = "measured"
    CALCULATED = "calculated"
    SUBSTITUTE = "substitute"
    MISSING = "missing"


class Segment(NamedTuple):
    """The accepted readings of one slot, and what the chain before it means for its borders.

    A tuple, as a stretch is: one is made for every stretch that comes, and a frozen dataclass takes several times as long.
    """

    slot: int
    first_t: int
    last_t: int
    last_v: int  # counter in mWh or power in mW, as accepted
    total: int  # running total E at the first reading
    inner: int  # energy from the first to the last reading
    samples: int
    start: Border
    start_mwh: int | None  # E at the slot's start, rounded; None where it is not known
    run_start: (
        int | None
    )  # where a run of missing slots would begin if this slot is missing; None: at no known border
    run_mwh: int | None  # E at run_start, rounded
    reset: bool = False
    jump: bool = False
    trail: tuple[int, ...] = ()  # slots of the readings dropped after the last accepted one
    streak: int = 2  # readings in a row up to the last that were not suspect, counted up to 2
    fall_t: int | None = None  # when a counter first fell after the last accepted reading
    jump_t: int | None = None  # when it first grew too much after that

    @property
    def end_total(self) -> int:
        return self.total + self.inner


class Stretch(NamedTuple):
    """Readings of one slot that follow each other normally; a single reading is the shortest one."""

    first_t: int
    first_v: int
    last_t: int
    last_v: int
    inner: int
    samples: int

    @classmethod
    def single(cls, t: int, v: int) -> "Stretch":
        return cls(t, v, t, v, 0, 1)


@dataclass(frozen=True, slots=True)
class SlotEnergy:
    """One direction of one slot; energy in mWh, None where a border is not known."""

    start: int
    mwh: int | None
    quality: Quality
    samples: int
    reset: bool
    jump: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """The energy of a run of missing slots, between the known borders around it."""

    start: int
    end: int
    mwh: int


@dataclass(frozen=True, slots=True)
class Fall:
    """A counter fell by more than noise."""

    at: int
    mwh: int


@dataclass(frozen=True, slots=True)
class Jump:
    """A counter grew by `mwh` where its connection can carry `most_mwh` since the last accepted reading."""

    at: int
    mwh: int
    most_mwh: int
