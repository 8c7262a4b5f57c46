"""How far behind something is: from counts, from ages, as a series over a run. Pure functions of what was sampled."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Number = TypeVar("Number", int, float)


@dataclass
class LagSeries:
    """Samples of one lag, in seconds, with the time at which each was taken."""

    at: list[float] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)

    def note(self, at: float, lag: float) -> None:
        self.at.append(at)
        self.lag.append(lag)

    @property
    def last(self) -> float:
        return self.lag[-1] if self.lag else 0.0

    @property
    def maximum(self) -> float:
        return max(self.lag, default=0.0)

    def since(self, at: float) -> "LagSeries":
        """Without what was sampled earlier."""
        first = bisect_left(self.at, at)
        return LagSeries(self.at[first:], self.lag[first:])

    def until(self, at: float) -> "LagSeries":
        """What was sampled before that."""
        end = bisect_left(self.at, at)
        return LagSeries(self.at[:end], self.lag[:end])

    def quantile(self, share: float) -> float:
        return quantile(Counter(self.lag), share)

    def growth(self) -> float:
        """From the largest of the first third to the largest of the last: a lag that comes and goes with batches stays at 0."""
        third = len(self.lag) // 3
        return max(self.lag[-third:]) - max(self.lag[:third]) if third else 0.0

    def caught_up_at(self, limit: float) -> float | None:
        """From when on it stayed below the limit; None if it does not by now."""
        if not self.lag or self.last >= limit:
            return None
        late = [index for index, lag in enumerate(self.lag) if lag >= limit]
        return self.at[late[-1] + 1] if late else self.at[0]


def behind_by_count(arrived: int, began: float, rate: float, now: float) -> float:
    """How long ago the message that arrives next was sent, where a steady rate began at that time."""
    return max(0.0, now - began - arrived / rate)


def behind_by_age(newest: Iterable[float | None], began: float, interval_s: float, now: float) -> float:
    """How long the longest-waiting of some meters has waited for its next message; `newest` is what is there of each."""
    return max([0.0, *(now - (began if at is None else at) - interval_s for at in newest)])


def quantile(counts: Counter[Number], share: float) -> Number:
    """Of values that are counted; 0 where there are none."""
    left = share * counts.total()
    for value in sorted(counts):
        left -= counts[value]
        if left < 0:
            return value
    return max(counts, default=0)


def spread(count: int, wanted: int) -> Sequence[int]:
    """So many of the numbers below `count`, evenly spread."""
    return range(0, count, -(-count // wanted))
