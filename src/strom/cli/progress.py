"""How a verb that runs on shows where it is, on standard error: one line that changes in a terminal, one now and then in a log."""

import sys
import time
from collections.abc import Callable

LINE_SECONDS, LOG_SECONDS = 0.5, 10.0  # how often progress is shown in a terminal, and in a log


def say(sentence: str) -> None:
    """A sentence for people, in a line of its own."""
    print(f"\r\033[K{sentence}" if sys.stderr.isatty() else sentence, file=sys.stderr)


class ProgressLine:
    """Call it as often as you like; it shows the text when it is time, and asks for it only then."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._pause = LINE_SECONDS if self._terminal else LOG_SECONDS
        self._last = time.monotonic()

    def __call__(self, text: Callable[[float], str]) -> None:
        """`text` is given the seconds since the line before."""
        now = time.monotonic()
        if now - self._last < self._pause:
            return
        shown = text(now - self._last)
        self._last = now
        print(
            f"\r\033[K{shown}" if self._terminal else shown,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def clear(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr)
