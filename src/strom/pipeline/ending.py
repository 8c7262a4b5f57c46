"""How the pipeline's work ends: a streaming query with the batch that is under way, and in few words when it failed.

Nothing is waited for without a limit: what is cut off is gone on with, or taken again, after the next start.
"""

import logging
import re
import threading
import time

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError

FINISH_SECONDS = 8.0
CANCEL_SECONDS = 30.0  # in which jobs that somebody starts are cancelled again and again

log = logging.getLogger(__name__)

_LONGEST = 300
_RAISED = re.compile(r"strom\.errors\.StromError: (.+)")


def let_finish(query: StreamingQuery, seconds: float = FINISH_SECONDS) -> None:
    """Give a batch under way the time to end; cut off, it would only have to be repeated."""
    deadline = time.monotonic() + seconds
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.1)


def end_work(spark: SparkSession, thread: threading.Thread) -> None:
    """Let a thread that was told to stop end what it is at; if that takes too long, cancel the jobs it may be waiting for.

    Those of everybody: whoever waits for the thread must not begin more. It may be about to start the next job.
    """
    thread.join(FINISH_SECONDS)
    if not thread.is_alive():
        return
    log.info("%s is cut off; it goes on after the next start", thread.name)
    deadline = time.monotonic() + CANCEL_SECONDS
    while thread.is_alive() and time.monotonic() < deadline:
        spark.sparkContext.cancelAllJobs()
        thread.join(1.0)


def stop_all(spark: SparkSession) -> None:
    for query in spark.streams.active:
        stop_query(query)


def stop_query(query: StreamingQuery) -> None:
    """One that does not end in time is left behind."""
    try:
        query.stop()
    except (PySparkException, Py4JError) as error:
        log.warning("the query %s does not end: %s", query.name, first_line(error))


def reason_of(failure: StreamingQueryException | None) -> str:
    """The line that says it: the first, or where our own code raised it, what stands below the traceback."""
    if failure is None:
        return "without an error"
    lines = str(failure).strip().splitlines()
    ours = [found[1] for line in lines if (found := _RAISED.match(line))]
    return (ours or lines)[0]


def first_line(error: BaseException) -> str:
    """What went wrong without the stack below it, which Java's errors have in their text."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if isinstance(error, StromError):
        return said
    return f"{type(error).__name__}: {said}"[:_LONGEST] if said else type(error).__name__
