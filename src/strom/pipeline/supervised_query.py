"""Supervises a streaming query: one that fails is started again from its checkpoint, after a back-off.

A server that restarts, a worker that is lost: both pass, and a new process with a cold JVM would only take longer. A
start that fails since a server is away is tried again for ever. A query that runs and fails again and again ends the
pipeline. How long it ran tells whether it got on: the real-time query reports progress only once in minutes.
"""

import logging
import time
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

from strom.backoff import Backoff
from strom.errors import StromError
from strom.pipeline.ending import first_line, reason_of
from strom.restart_record import RESTARTS

MOST_FAILURES = 6  # in a row
STABLE_SECONDS = 120.0  # a run that lasted this long was a good one
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 16.0

log = logging.getLogger(__name__)


class SupervisedQuery:
    """Call `check` often; `query` is the one that runs at present, or ran last.

    `start` raises StromError for what a returning server or a person mends. `gives_up`: whether failures in a row end the
    pipeline. A query that others do not depend on is started again for ever, also if its very first start fails.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], StreamingQuery],
        *,
        gives_up: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.query: StreamingQuery | None = None
        self._name = name
        self._start = start
        self._gives_up = gives_up
        self._clock = clock
        self._failures = 0  # in a row
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._started = 0.0
        self._restart_at: float | None = None  # during a back-off
        if gives_up:
            self._begin()
        else:
            self._try_to_begin()

    @property
    def is_at_work(self) -> bool:
        """Whether its first batch has begun."""
        query = self.query
        return query is not None and (bool(query.status["isTriggerActive"]) or query.lastProgress is not None)

    def check(self) -> None:
        """Start the query again if it is time to; StromError if it has failed too often in a row."""
        if self._restart_at is not None:
            if self._clock() >= self._restart_at:
                self._restart_at = None
                self._try_to_begin()
        elif self.query is not None and not self.query.isActive:
            self._note_end(self.query)

    def _begin(self) -> None:
        self.query = self._start()
        self._started = self._clock()

    def _try_to_begin(self) -> None:
        again = self.query is not None
        try:
            self._begin()
        except StromError as error:
            self._back_off("could not be started", str(error))
        except Exception as error:  # whatever Spark raises, or the way to it
            self._count_failure("could not be started", first_line(error))
        else:
            if again:
                log.info("the query %s is started again", self._name)

    def _note_end(self, query: StreamingQuery) -> None:
        if self._clock() - self._started >= STABLE_SECONDS:
            self._failures = 0
            self._backoff.reset()
        self._count_failure("ended", reason_of(query.exception()))

    def _count_failure(self, what: str, reason: str) -> None:
        self._failures += 1
        if self._gives_up and self._failures >= MOST_FAILURES:
            raise StromError(
                f"the query {self._name} {what} {self._failures} times in a row: {reason}", exit_code=1
            )
        self._back_off(what, reason)

    def _back_off(self, what: str, reason: str) -> None:
        pause = self._backoff.next()
        self._restart_at = self._clock() + pause
        RESTARTS.add(f"the query {self._name}", reason)
        log.warning("the query %s %s (%s); it is started again in %.1f s", self._name, what, reason, pause)
