"""Runs: stretches of readings under a condition, such as a lost phase or too much power.

A run is a maximal stretch of neighbouring readings that fulfil the condition; readings that say nothing about it do
not count. It ends at the first that does not fulfil it, or where readings are too far apart to say anything. Runs are
a function of the set of readings: walking on from a stored run gives what walking from the beginning gives.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reading says: whether the condition holds, and the value that is judged (thousandths)."""

    holds: bool
    value: int


@dataclass(frozen=True, slots=True)
class Run:
    """`until` is the reading that ended it, None while there is none; times are epoch ms, `worst` thousandths."""

    start: int
    last: int
    worst: int
    until: int | None = None

    @property
    def lasted(self) -> int:
        """What was seen of it: from its first reading to its last."""
        return self.last - self.start

    def ended(self, apart_ms: int) -> int | None:
        """Its end; across readings too far apart nothing is known but its last reading."""
        if self.until is None:
            return None
        return self.last if self.until - self.last >= apart_ms else self.until


Worse = Callable[[int, int], int]  # max or min: which of two values is the worse


def walk_runs(
    carried: Run | None, points: Iterable[tuple[int, Verdict]], worse: Worse, apart_ms: int
) -> list[Run]:
    """Go on from an open run over the readings after it, in order of time; the last one may be open again."""
    runs = [carried] if carried is not None else []
    for t, verdict in points:
        open_ = runs[-1] if runs and runs[-1].until is None else None
        if open_ is not None and verdict.holds and t - open_.last < apart_ms:
            runs[-1] = replace(open_, last=t, worst=worse(open_.worst, verdict.value))
            continue
        if open_ is not None:
            runs[-1] = replace(open_, until=t)
        if verdict.holds:
            runs.append(Run(t, t, verdict.value))
    return runs


def touched_since(t: int, runs: Sequence[Run]) -> int:
    """From where on a late reading at `t` can change runs: the start of the one it lies in, else itself."""
    around = [run.start for run in runs if run.start <= t and (run.until is None or t <= run.until)]
    return min([t, *around])
