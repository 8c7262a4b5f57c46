"""How a streaming query ends: with the batch that is under way, and in few words when it failed."""

import time

from pyspark.sql.streaming.query import StreamingQuery

FINISH_SECONDS = 8.0


def let_finish(query: StreamingQuery, seconds: float = FINISH_SECONDS) -> None:
    """Give a batch under way the time to end; cut off, it would only have to be repeated."""
    deadline = time.monotonic() + seconds
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.1)
