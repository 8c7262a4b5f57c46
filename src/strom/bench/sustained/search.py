"""Searches the largest rate that holds: doubles, halves the interval, confirms. It knows nothing of how a rate is tried."""

from dataclasses import dataclass
from math import floor, log10, sqrt

PRECISION = 1.1  # between the largest rate that held and the least that did not
LEAST_RATE = 10


@dataclass(frozen=True)
class Step:
    rate: int
    confirms: bool  # a full-length run, by which the search ends if it holds


class Search:
    """`step` is what to try next, until it is None; `note` says how that went."""

    def __init__(self, first_rate: int) -> None:
        self.step: Step | None = Step(first_rate, False)
        self.found: int | None = None
        self._held: set[int] = set()
        self._failed: int | None = None  # the least

    def note(self, held: bool) -> None:
        if self.step is None:
            raise ValueError("the search is over")
        rate, confirmed = self.step.rate, self.step.confirms and held
        if held:
            self._held.add(rate)
        else:
            self._failed = min(rate, self._failed or rate)
            self._held = {each for each in self._held if each < rate}
        if confirmed:
            self.found = rate
        self.step = None if confirmed else self._next()

    def _next(self) -> Step | None:
        best = max(self._held, default=None)
        if self._failed is None:
            return Step(2 * (best or LEAST_RATE), False)
        if best is None:
            half = rounded(self._failed / 2)
            return Step(half, False) if half >= LEAST_RATE else None
        between = rounded(sqrt(best * self._failed))
        if self._failed / best > PRECISION and best < between < self._failed:
            return Step(between, False)
        return Step(best, True)


def rounded(rate: float) -> int:
    """To two digits, as people say a rate."""
    unit: int = 10 ** max(0, floor(log10(rate)) - 1)
    return max(1, round(rate / unit) * unit)
