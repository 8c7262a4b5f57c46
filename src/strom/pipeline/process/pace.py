"""How often a pass over many meters runs: so that it takes a fixed share of the time, however long it takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass
class DutyCycle:
    """A pass that took one second is due again when it makes up `share` of the time since, at the latest after `most_seconds`."""

    share: float
    most_seconds: float = float("inf")
    clock: Callable[[], float] = monotonic
    _due: float = field(default=float("-inf"), init=False)

    def is_due(self) -> bool:
        return self.clock() >= self._due

    def ran(self, seconds: float) -> None:
        """It has just run, for so long."""
        pause = seconds / self.share - seconds
        self._due = self.clock() + min(pause, self.most_seconds)
