"""Keeps a streaming query going: one that fails is started again from its checkpoint, and later each time.

A server that is started anew, a worker that is lost: both pass, and a new process with a cold JVM would only take
longer. What fails again and again without getting on is told, and ends the pipeline.
"""

import logging
import time
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline.ending import reason_of

MOST_FAILURES = 6  # in a row, without a batch done between
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 16.0

log = logging.getLogger(__name__)


class Kept:
    """`look` often; `query` is the one that runs at present.

    `gives_up`: whether what fails again and again ends the pipeline. What others do not depend on is tried for ever.
    """

    def __init__(self, start: Callable[[], StreamingQuery], *, gives_up: bool = True) -> None:
        self._start = start
        self._gives_up = gives_up
        self.query = start()
        self._failures = 0
        self._again_at: float | None = None  # when a failed one is started again

    def look(self) -> None:
        """Start the query again if it is time to; raise if that has been in vain too often."""
        if self._again_at is None:
            if not self.query.isActive:
                self._note_failure()
        elif time.monotonic() >= self._again_at:
            self._again_at = None
            self.query = self._start()

    def _note_failure(self) -> None:
        reason = reason_of(self.query.exception())
        got_on = self.query.lastProgress is not None
        self._failures = 1 if got_on else self._failures + 1
        if self._gives_up and self._failures >= MOST_FAILURES:
            raise StromError(f"the query {self.query.name} ended: {reason}", exit_code=1)
        pause = min(FIRST_PAUSE * 2 ** min(self._failures - 1, MOST_FAILURES), LONGEST_PAUSE)
        log.warning("the query %s ended (%s); it goes on in %g s", self.query.name, reason, pause)
        self._again_at = time.monotonic() + pause
