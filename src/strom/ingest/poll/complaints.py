"""How the poller tells of one adapter's troubles: each once, not at every attempt, and when it is over."""

import logging

from strom.ingest.poll.trouble import Kind

LOG = logging.getLogger("strom.poll")
QUIET_SECONDS = 300.0  # a trouble that comes and goes is not told more often


class Complaints:
    """Of one adapter."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._told_at: dict[Kind, float] = {}
        self._open: set[Kind] = set()  # told since it last succeeded
        self._attempts = 0

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

    def remark(self, words: str) -> None:
        """Something that is not a failure."""
        LOG.warning("%s: %s", self._entry, words)
