"""Which readings of a meter may be left out without changing its quarter-hours.

A counter has summed up already: a quarter-hour is the difference of two totals at its borders. So the readings on both
sides of each border always stay, and between them one in a while is enough. Where there is no counter, power is summed
up from the readings, each held until the next: only one that repeats the last may be left out. Pure: times are given.
"""

from dataclasses import dataclass

from strom.domain.slots import SLOT_MS, slot_of

# Of two neighbours further apart a border between them is not exact any more, and their meter might be taken for silent.
LONGEST_MS = 60_000
# A meter that pushes regularly has its last reading before a border within one step of it; one more for a step that
# was missed.
_STEPS_BEFORE_BORDER = 2


@dataclass(slots=True)
class Trace:
    """What is remembered of a meter: what it said last, and what of that went on."""

    seen_ms: int
    kept_ms: int
    said: int


class Thinning:
    """Asks for each reading, in the order of their arrival, whether it goes on."""

    def __init__(self, every_ms: int | None = None, *, on_change: bool = False) -> None:
        self._every_ms = every_ms
        self._on_change = on_change

    def goes_on(self, trace: Trace, at_ms: int, said: int, *, counted: bool = True) -> bool:
        """`said` stands for what the meter says beside the time: another number, another saying.

        `counted` is False where its power has no counter.
        """
        step = at_ms - trace.seen_ms
        trace.seen_ms = max(at_ms, trace.seen_ms)
        if step < 0:
            return True  # out of order: its neighbours are not known any more
        repeats = said == trace.said and (self._on_change or not counted)
        due = self._is_overdue(trace, at_ms, step) if repeats else not counted or self._is_due(trace, at_ms)
        if not due and not self._at_border(trace, at_ms, step):
            return False
        trace.kept_ms, trace.said = at_ms, said
        return True

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
