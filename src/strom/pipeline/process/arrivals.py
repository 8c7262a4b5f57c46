"""The pass over what arrived: each meter's newest reading, push interval, clock and silence.

It sees every reading once, in the order in which the lake got them, and knows nothing of energy.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import SILENT
from strom.domain.reading import CLOCK_WRONG
from strom.pipeline import latest
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.clocks import Clocks
from strom.pipeline.alerts.oddities import clock_odd
from strom.pipeline.alerts.silence import Silences, arrivals
from strom.pipeline.cells import cell_of, received_step
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.portions import portions
from strom.pipeline.series import Cell
from strom.store.alert_tables import load_open
from strom.store.meter_tables import load_states
from strom.store.writes import Work


def arrival_cells(readings: DataFrame, limits: Limits) -> DataFrame:
    """A row per meter and five minutes: when its messages came, and whether their times fit that."""
    moments = (
        readings.select(
            "meter",
            F.unix_millis("at").alias("t"),
            F.unix_millis("received").alias("received"),
            F.array_contains("flags", CLOCK_WRONG).alias("impossible_time"),
        )
        .repartition("meter")
        .groupBy("meter", "t")
        .agg(
            F.max("received").alias("received"),
            F.min("received").alias("received_first"),
            F.max("impossible_time").alias("impossible_time"),
        )
    )
    return (
        moments.withColumn("received_step", received_step())
        .groupBy("meter", cell_of("t"))
        .agg(
            F.min("t").alias("first_t"),
            F.max("t").alias("last_t"),
            F.count("*").alias("samples"),
            F.min("received_first").alias("received_first"),
            F.max("received").alias("received"),
            F.max("received_step").alias("received_step"),
            F.max_by("received", "t").alias("newest_received"),
            clock_odd(limits),
        )
    )


class ArrivalsPass:
    """`by_arrival`: whether readings come in the order of their arrival; only then can they tell who was silent."""

    def __init__(self, limits: Limits, archive: Archive, *, watches: bool, by_arrival: bool = True) -> None:
        self._limits = limits
        self._clocks = Clocks(limits, archive)
        self._watches = watches
        self._by_arrival = by_arrival

    def evaluate(self, work: Work, outbox: Outbox, readings: DataFrame, most: int | None = None) -> None:
        """`most`: how many readings there are at most, if that is known."""
        for portion in portions(arrival_cells(readings, self._limits), most):
            if portion.cells:
                self._portion(work, outbox, portion.of(readings), portion.cells)

    def _portion(self, work: Work, outbox: Outbox, readings: DataFrame, cells: Sequence[Cell]) -> None:
        own = latest.by_meter(cells)
        old = load_states(work, own)
        new = {meter: latest.next_state(old.get(meter), each) for meter, each in own.items()}
        latest.write_latest(work, outbox, own, latest.newest_readings(readings), new)
        if not self._watches:
            return
        found = [self._clocks.judged(work, readings, own, old, new)]
        if self._by_arrival:
            silences = Silences(self._limits, load_open(work, SILENT, own))
            found.append(silences.ended(own, old, new, lambda meters: arrivals(readings, meters)))
        watch.write_alerts(work, outbox, found)
