"""Tells the log of callers that were turned away through no fault of theirs: each kind at once, then at most once a minute.

Metrics count every one of them; a line for each would fill the disk just when all is full.
"""

import logging
import time
from collections.abc import Callable
from http import HTTPStatus

import orjson

from strom.ingest.gateway.answers import Answer

LOG = logging.getLogger("strom.gateway")
QUIET_SECONDS = 60.0
_KINDS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class TurnedAway:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told_at = dict.fromkeys(_KINDS, -QUIET_SECONDS)
        self._untold = dict.fromkeys(_KINDS, 0)

    def note(self, answer: Answer) -> None:
        """An answer that is a problem."""
        status = HTTPStatus(answer.status)
        if status not in self._told_at:
            return
        self._untold[status] += 1
        now = self._clock()
        if now - self._told_at[status] >= QUIET_SECONDS:
            others = self._untold[status] - 1
            more = f" ({others} more since the last such line)" if others else ""
            LOG.warning("answered %d: %s%s", status, orjson.loads(answer.body)["error"], more)
            self._told_at[status], self._untold[status] = now, 0
