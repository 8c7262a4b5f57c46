"""The silences that ended, from all arrivals at once: live, the batches tell them one after the other."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from strom.domain.alerts import Alert
from strom.domain.push_interval import LONGEST_MS
from strom.domain.silences import silence
from strom.pipeline.given import given
from strom.pipeline.late import too_late
from strom.pipeline.limits import Limits
from strom.settings import Settings

_QUIET = "meter string, known_ms bigint, unknown_ms bigint"


def ended_silences(
    readings: DataFrame, intervals: Mapping[str, int | None], settings: Settings
) -> list[Alert]:
    """By the push intervals of the meters: two arrivals of a meter with nothing in between for longer than it may be quiet.

    As `domain/silences.py` has it: until two messages came that may be an interval apart, none is known.
    """
    limits = Limits(settings)
    quiet = [
        (meter, limits.quiet(meter).ms(interval), limits.quiet(meter).ms(None))
        for meter, interval in intervals.items()
    ]
    if not quiet:
        return []
    in_order = Window.partitionBy("meter").orderBy("arrival", "t")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    step = F.col("t") - F.max("t").over(earlier)
    found = (
        readings.where(~too_late(settings.late_ms))
        .select("meter", F.unix_millis("received").alias("arrival"), F.unix_millis("at").alias("t"))
        .withColumns({"before": F.lag("arrival").over(in_order), "push": (step > 0) & (step <= LONGEST_MS)})
        .withColumn("known", F.coalesce(F.max("push").over(earlier), F.lit(False)))
        .join(F.broadcast(given(readings.sparkSession, quiet, _QUIET)), "meter")
        .withColumn("quiet", F.when(F.col("known"), F.col("known_ms")).otherwise(F.col("unknown_ms")))
        .where("arrival - before > quiet")
        .collect()
    )
    return [
        silence(row["meter"], row["before"], row["quiet"], row["arrival"], settings.page.timezone)
        for row in found
    ]
