"""Shows beside the work how far `strom produce` is, and that Kafka confirms nothing: the work itself waits then."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Self

from strom.cli.terminal import LINE_SECONDS, Terminal

QUIET_SECONDS = 5.0  # without a confirmation, until that is worth a word


class Progress(NamedTuple):
    sent: int
    written: int
    failed: int

    @property
    def under_way(self) -> int:
        return self.sent - self.written - self.failed


class Watch:
    """In its block, a thread looks again and again."""

    def __init__(self, look: Callable[[], Progress], kafka: str, timeout: float) -> None:
        self._look = look
        self._kafka = kafka
        self._timeout = timeout
        self._terminal = Terminal()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="strom-progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._terminal.clear()

    def _run(self) -> None:
        told = ""
        before, since = self._look(), time.monotonic()
        while not self._ended.wait(LINE_SECONDS):
            now = self._look()
            if not before.under_way or now[1:] != before[1:]:
                since = time.monotonic()
            before = now
            line = self._line(now, time.monotonic() - since)
            if now.sent and line != told and self._terminal.is_due:  # one who waits for a pipe says nothing
                self._terminal.tick(told := line)

    def _line(self, now: Progress, quiet: float) -> str:
        if now.under_way and quiet >= QUIET_SECONDS:
            return (
                f"Kafka at {self._kafka} has confirmed nothing for {quiet:.0f} s: {now.under_way:,} under way, "
                f"each given up after {self._timeout:g} s"
            )
        failed = f", {now.failed:,} not written" if now.failed else ""
        return f"{now.sent:,} sent, {now.written:,} written{failed}"
