"""Which output mode a live query can have: Spark's own checker is asked, before anything is started."""

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from strom.errors import StromError
from strom.pipeline.sql.spark_words import refused

APPEND, UPDATE, COMPLETE = "append", "update", "complete"
MODES = (APPEND, UPDATE, COMPLETE)
# In a terminal a result may change while it comes; a record in a topic is better final, where the query allows it.
FOR_TERMINAL = (UPDATE, APPEND, COMPLETE)
FOR_TOPIC = (APPEND, UPDATE)


def choose_mode(frame: DataFrame, wanted: Sequence[str]) -> str:
    """The first of these modes that the query allows."""
    if not frame.isStreaming:
        raise StromError(
            "The query reads nothing that goes on; run it without --live, or name readings or a topic."
        )
    failures = {}
    for mode in wanted:
        failure = _failure(frame, mode)
        if failure is None:
            return mode
        failures[mode] = failure
    # What is wrong with updates is about the query; the other modes first complain about themselves.
    raise refused(failures.get(UPDATE) or failures[wanted[0]])


def _failure(frame: DataFrame, mode: str) -> PySparkException | None:
    jvm = frame.sparkSession._jvm
    assert jvm is not None  # noqa: S101 - there is a session
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    output = {APPEND: modes.Append, UPDATE: modes.Update, COMPLETE: modes.Complete}[mode]()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), output)
    except PySparkException as error:
        return error
    return None
