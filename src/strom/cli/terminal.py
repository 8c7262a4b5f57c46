"""Progress on standard error: lines that stay, and one that changes in a terminal or comes now and then in a log."""

import sys
import time

LINE_SECONDS, LOG_SECONDS = 0.5, 10.0  # how often it is shown in a terminal, and in a log


class Terminal:
    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = time.monotonic()

    def say(self, line: str) -> None:
        self.clear()
        print(line, file=sys.stderr, flush=True)

    @property
    def is_due(self) -> bool:
        """Whether it is time to show progress again."""
        return time.monotonic() - self._last >= (LINE_SECONDS if self._live else LOG_SECONDS)

    def tick(self, line: str) -> None:
        if not self.is_due:
            return
        self._last = time.monotonic()
        if self._live:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            self.say(line)

    def clear(self) -> None:
        if self._live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
