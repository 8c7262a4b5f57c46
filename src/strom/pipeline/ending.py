"""How a streaming query ends: with the batch that is under way, and in few words when it failed."""

import re
import time

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

FINISH_SECONDS = 8.0
_RAISED = re.compile(r"strom\.errors\.StromError: (.+)")


def let_finish(query: StreamingQuery, seconds: float = FINISH_SECONDS) -> None:
    """Give a batch under way the time to end; cut off, it would only have to be repeated."""
    deadline = time.monotonic() + seconds
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.1)


def reason_of(failure: StreamingQueryException | None) -> str:
    """The line that says it: the first, or where our own code raised it, what stands below the traceback."""
    if failure is None:
        return "without an error"
    lines = str(failure).strip().splitlines()
    ours = [found[1] for line in lines if (found := _RAISED.match(line))]
    return (ours or lines)[0]
