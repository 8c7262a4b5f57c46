"""The silences that ended, from all arrivals at once: live, the batches tell them one after the other."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from strom.domain.alerts import Alert, quiet_limit_ms, silence
from strom.pipeline.given import given
from strom.pipeline.late import too_late
from strom.settings import MeterRules, RuleSettings, Settings
from strom.store.meter_tables import load_intervals
from strom.store.writes import Work


def ended_silences(work: Work, readings: DataFrame, settings: Settings) -> list[Alert]:
    """Two arrivals of a meter with nothing in between for longer than it may be quiet."""
    rules = MeterRules(settings)
    limits = {meter: _limit(rules.of(meter), interval) for meter, interval in load_intervals(work).items()}
    if not limits:
        return []
    quiet = F.broadcast(given(readings.sparkSession, limits.items(), "meter string, quiet bigint"))
    before = F.lag("arrival").over(Window.partitionBy("meter").orderBy("arrival"))
    found = (
        readings.where(~too_late(settings.late_ms))
        .select("meter", F.unix_millis("received").alias("arrival"))
        .withColumn("before", before)
        .join(quiet, "meter")
        .where("arrival - before > quiet")
        .collect()
    )
    return [
        silence(row["meter"], row["before"], row["quiet"], row["arrival"], settings.page.timezone)
        for row in found
    ]


def _limit(rules: RuleSettings, interval: int | None) -> int:
    return quiet_limit_ms(interval or 0, rules.silent_pushes, rules.silent_seconds)
