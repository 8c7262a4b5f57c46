"""How the poller tells of one adapter's troubles: each once, not at every attempt, and when it is over."""

import logging
import math

from strom.ingest.poll.trouble import Kind

LOG = logging.getLogger("strom.poll")
QUIET_SECONDS = 300.0  # a trouble that comes and goes is not told more often
SLOW_IN_A_ROW = 2  # answers; one alone may have been the first of a connection, with the handshake in it


class Complaints:
    """Of one adapter."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._told_at: dict[Kind, float] = {}
        self._open: set[Kind] = set()  # told since it last succeeded
        self._attempts = 0
        self._slow_answers = 0  # in a row
        self._slow_told = False  # and not over yet
        self._slow_told_at = -math.inf

    def failed(self, kind: Kind, why: str, now: float) -> bool:
        """Whether a line was written."""
        self._attempts += 1
        if kind in self._open or now - self._told_at.get(kind, -QUIET_SECONDS) < QUIET_SECONDS:
            return False
        self._told_at[kind] = now
        self._open.add(kind)
        LOG.warning("%s: %s; trying again", self._entry, why)
        return True

    def succeeded(self) -> None:
        if self._open:
            LOG.info("%s: answers again, after %d attempts that failed", self._entry, self._attempts)
            self._open.clear()
        self._attempts = 0

    def answered(self, seconds: float, interval: float, now: float) -> None:
        """How long an answer took that should have come before the next time to ask."""
        if seconds <= interval:
            if self._slow_told:
                LOG.info(
                    "%s: answers within its interval again, after %d slow answers",
                    self._entry,
                    self._slow_answers,
                )
            self._slow_answers, self._slow_told = 0, False
            return
        self._slow_answers += 1
        quiet = now - self._slow_told_at < QUIET_SECONDS
        if self._slow_answers < SLOW_IN_A_ROW or self._slow_told or quiet:
            return
        self._slow_told, self._slow_told_at = True, now
        LOG.warning(
            "%s: is slow, its answers take %.3g s; its interval is %g s, and pushes may be missed",
            self._entry,
            seconds,
            interval,
        )

    def remark(self, words: str) -> None:
        """Something that is not a failure."""
        LOG.warning("%s: %s", self._entry, words)
