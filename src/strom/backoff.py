"""How long to wait before the next attempt: longer each time, never two clients in step."""

import random

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 15.0


class Backoff:
    """Doubles up to a limit; jitter keeps a thousand clients from knocking at the same moment."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self.longest = longest  # may be changed on the way
        self._random = random.Random()  # noqa: S311 - spreads attempts, guards nothing
        self.attempts = 0

    def next(self) -> float:
        """Seconds to wait before the next attempt."""
        span = min(self.longest, self._first * 2.0 ** min(self.attempts, 16))
        self.attempts += 1
        return span * self._random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """An attempt has succeeded."""
        self.attempts = 0
