"""Warnings about what may come a thousand times a second: a few of them at once, then how many there were."""

import logging
import time
from collections.abc import Callable

WINDOW_SECONDS = 60.0
MOST_LINES = 5  # in a window


class RateLimitedLog:
    """For one thread. What was left out is counted, and told with the first line after the window."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._began = clock()
        self._lines = 0  # in this window
        self._left_out = 0

    def warning(self, message: str, *values: object) -> None:
        now = self._clock()
        if now - self._began >= WINDOW_SECONDS:
            self._began, self._lines = now, 0
        self._lines += 1
        if self._lines > MOST_LINES:
            self._left_out += 1
            return
        if self._left_out:
            self._log.warning("%s lines like the next one were left out", f"{self._left_out:,}")
            self._left_out = 0
        self._log.warning(message, *values)
