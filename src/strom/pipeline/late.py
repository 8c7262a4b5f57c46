"""Which readings come too late for the tables, and where they are set aside.

Too late is told by the reading alone, how long after its time it arrived: live, shuffled and replayed agree on it.
"""

import logging

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.pipeline.lake.reading_text import lake_json
from strom.store.late_tables import drop_late, least_lag, save_late
from strom.store.writes import Work

NEVER_LATE_MS = 2**62

log = logging.getLogger(__name__)


def too_late(late_ms: int) -> Column:
    return _lag() > F.lit(late_ms)


def counts(readings: DataFrame, late_ms: int) -> tuple[int, int]:
    """How many there are, and how many of them are too late."""
    (found,) = readings.agg(F.count("*"), F.count_if(too_late(late_ms))).collect()
    return found[0], found[1]


def set_aside(work: Work, readings: DataFrame, late_ms: int) -> int:
    """Keep what is too late beside the quarter-hours, each once; returns how many were not there before."""
    rows = readings.where(too_late(late_ms)).select(*_place(), lake_json())
    # Whoever fills in years of history sends many of them.
    added = save_late(work, map(tuple, rows.toLocalIterator()))
    if added:
        log.warning(
            "%s readings came too late for the quarter-hours and were set aside; `strom pipeline late` lists them",
            f"{added:,}",
        )
    return added


def take_back(work: Work, readings: DataFrame, late_ms: int) -> int:
    """Forget what was set aside under a lower limit and is taken in now; returns how many were."""
    least = least_lag(work, late_ms)
    if least is None:
        return 0
    rows = readings.where(_lag().between(least, late_ms)).select(*_place())
    return drop_late(work, map(tuple, rows.toLocalIterator()))


def _lag() -> Column:
    return F.unix_millis("received") - F.unix_millis("at")


def _place() -> tuple[Column, ...]:
    """What tells one reading from all others."""
    return F.col("meter"), F.unix_millis("at"), F.unix_millis("received"), F.col("origin")
