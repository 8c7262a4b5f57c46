"""Which readings come too late for the tables, and where they are set aside.

Too late is told by the reading alone, how long after its time it arrived: live, shuffled and replayed agree on it.
"""

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.pipeline.lake.reading_text import lake_json
from strom.store.late_tables import drop_late, least_lag, save_late
from strom.store.writes import Writer

ROWS_AT_ONCE = 10_000  # that the driver holds, and a transaction writes
NEVER_LATE_MS = 2**62

log = logging.getLogger(__name__)


def too_late(late_ms: int) -> Column:
    return _lag() > F.lit(late_ms)


def counts(readings: DataFrame, late_ms: int) -> tuple[int, int]:
    """How many there are, and how many of them are too late."""
    (found,) = readings.agg(F.count("*"), F.count_if(too_late(late_ms))).collect()
    return found[0], found[1]


def set_aside(writer: Writer, readings: DataFrame, late_ms: int) -> int:
    """Keep what is too late beside the quarter-hours, each once; returns how many were not there before."""
    rows = readings.where(too_late(late_ms)).select(*_place(), lake_json())
    added = 0
    for some in _in_chunks(rows):
        with writer.work() as work:
            added += save_late(work, some)
    if added:
        log.warning(
            "%s readings came too late for the quarter-hours and were set aside; `strom pipeline late` lists them",
            f"{added:,}",
        )
    return added


def take_back(writer: Writer, readings: DataFrame, late_ms: int) -> int:
    """Forget what was set aside under a lower limit and is taken in now; returns how many were."""
    with writer.work() as work:
        least = least_lag(work, late_ms)
    if least is None:
        return 0
    gone = 0
    for some in _in_chunks(readings.where(_lag().between(least, late_ms)).select(*_place())):
        with writer.work() as work:
            gone += drop_late(work, some)
    return gone


def _in_chunks(frame: DataFrame) -> Iterator[list[tuple[Any, ...]]]:
    """All rows, a bounded number at a time: whoever fills in years of history sends many of them.

    A transaction begins when its rows are there, so that none is open while Spark reads. One that is cut off by a kill is
    written again by the next attempt: rows have keys.
    """
    rows = map(tuple, frame.toLocalIterator())
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield some


def _lag() -> Column:
    return F.unix_millis("received") - F.unix_millis("at")


def _place() -> tuple[Column, ...]:
    """What tells one reading from all others."""
    return F.col("meter"), F.unix_millis("at"), F.unix_millis("received"), F.col("origin")
