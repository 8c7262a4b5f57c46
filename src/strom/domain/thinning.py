"""Which readings of a meter may be left out without changing its quarter-hours.

A counter has summed up already: a quarter-hour is the difference of two totals at its borders. So the readings on both
sides of each border always stay, and between them one in a while is enough. Where there is no counter, power is summed
up from the readings, each held until the next: only one that repeats the last may be left out.

A meter may tell counters in one message, power in another, or each register alone. Only messages of one kind, which
tell the same registers, can stand for each other, so each kind is judged by itself. Pure: times are given.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from strom.domain.load_profile import Direction
from strom.domain.reading import NUMBER_FIELDS
from strom.domain.slots import SLOT_MS, slot_of

# Of two neighbours further apart a border between them is not exact any more, and their meter might be taken for silent.
LONGEST_MS = 60_000
# Kinds that are remembered of a meter: more than there are registers. One that invents more is remembered anew.
MOST_KINDS = 100
# A meter that pushes regularly has its last reading before a border within one step of it; one more for a step that
# was missed.
_STEPS_BEFORE_BORDER = 2

_BITS = {name: 1 << place for place, name in enumerate(NUMBER_FIELDS)}
# The power of a direction and its counter.
_SUMMED = [(_BITS[f"{direction}_w"], _BITS[f"{direction}_wh"]) for direction in Direction]


class Kind(NamedTuple):
    """What a message tells, whatever the values are. Numbers, for a name that a sender made up can be long."""

    fields: int  # a bit for each field
    others: int  # stands for the names under `other`

    @classmethod
    def of(cls, fields: Iterable[str], others: Iterable[str] = ()) -> "Kind":
        """Of the names that a reading has; those that tell no number do not count."""
        return cls(sum([_BITS[name] for name in fields if name in _BITS]), hash(frozenset(others)))


@dataclass(slots=True)
class Trace:
    """What is remembered of a kind of message: when it last came, and what of it went on."""

    kind: Kind
    seen_ms: int
    kept_ms: int
    said: int | None  # None: another kind has told some of these registers since


@dataclass(slots=True)
class Meter:
    """What is remembered of a meter."""

    traces: list[Trace] = field(default_factory=list)

    def find(self, kind: Kind) -> Trace | None:
        return next((trace for trace in self.traces if trace.kind == kind), None)

    def add(self, trace: Trace) -> None:
        if len(self.traces) >= MOST_KINDS:
            self.traces.clear()
        self.traces.append(trace)

    def counts(self, kind: Kind, at_ms: int) -> bool:
        """Whether each direction whose power is told has a counter too, be it in other messages of late."""
        return all(self._tells(counter, at_ms) for power, counter in _SUMMED if kind.fields & power)

    def _tells(self, field_bit: int, at_ms: int) -> bool:
        return any(
            trace.kind.fields & field_bit and at_ms - trace.seen_ms <= SLOT_MS for trace in self.traces
        )

    def overtake(self, kept: Trace) -> None:
        """What other kinds said of the same registers is not the last word any more."""
        for trace in self.traces:
            if trace is not kept and trace.kind.fields & kept.kind.fields:
                trace.said = None


class Thinning:
    """Asks for each reading, in the order of their arrival, whether it goes on."""

    def __init__(self, every_ms: int | None = None, *, on_change: bool = False) -> None:
        self._every_ms = every_ms
        self._on_change = on_change

    def goes_on(self, meter: Meter, kind: Kind, at_ms: int, said: int) -> bool:
        """`said` stands for what the message says beside the time: another number, another saying."""
        trace = meter.find(kind)
        if trace is None:
            trace = Trace(kind, at_ms, at_ms, said)
            meter.add(trace)
        else:
            step = at_ms - trace.seen_ms
            trace.seen_ms = max(at_ms, trace.seen_ms)
            if step < 0:
                return True  # out of order: its neighbours are not known any more
            if not self._is_wanted(trace, at_ms, step, said, counted=meter.counts(kind, at_ms)):
                return False
            trace.kept_ms, trace.said = at_ms, said
        meter.overtake(trace)
        return True

    def _is_wanted(self, trace: Trace, at_ms: int, step: int, said: int, *, counted: bool) -> bool:
        repeats = said == trace.said and (self._on_change or not counted)
        due = self._is_overdue(trace, at_ms, step) if repeats else not counted or self._is_due(trace, at_ms)
        return due or self._at_border(trace, at_ms, step)

    def _at_border(self, trace: Trace, at_ms: int, step: int) -> bool:
        """The first reading of a quarter-hour, or by the looks of it the last."""
        if slot_of(at_ms) != slot_of(trace.kept_ms):
            return True
        return step > 0 and at_ms + _STEPS_BEFORE_BORDER * step >= slot_of(at_ms) + SLOT_MS

    def _is_due(self, trace: Trace, at_ms: int) -> bool:
        return self._every_ms is None or self._window(at_ms) != self._window(trace.kept_ms)

    def _is_overdue(self, trace: Trace, at_ms: int, step: int) -> bool:
        """The next one would come too late."""
        return at_ms + step - trace.kept_ms > LONGEST_MS

    def _window(self, at_ms: int) -> int:
        """Counted from the quarter-hour's start, so that each begins with a window of its own."""
        return at_ms % SLOT_MS // (self._every_ms or SLOT_MS)
