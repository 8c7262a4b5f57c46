"""What of the readings that arrived is folded natively: when they came, and the newest; for some meters more."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import WINDOW_MS
from strom.domain.reading import CLOCK_METER, CLOCK_WRONG
from strom.pipeline.alerts.oddities import clock_odd
from strom.pipeline.cells import cell_of, received_step
from strom.pipeline.given import given, of_meters
from strom.pipeline.judge import quoted
from strom.pipeline.lake.archive import COLUMNS, Archive
from strom.pipeline.lake.reading_text import lake_json
from strom.pipeline.limits import Limits
from strom.pipeline.process.lines import by_meter, line, plain
from strom.pipeline.process.needs import ArrivalsNeed

_SHOWN = ("import_w", "export_w", "import_wh", "export_wh")
_WINDOWS = "meter string, window bigint"


def folded(readings: DataFrame, limits: Limits, shards: int) -> DataFrame:
    """The cells of every meter, and its newest reading."""
    return _with_newest(by_meter(_cell_lines(readings, limits, shards)), readings, shards)


def detailed(
    readings: DataFrame, archive: Archive, needs: Mapping[str, ArrivalsNeed], limits: Limits, shards: int
) -> DataFrame:
    """The same of some meters, with what else they need."""
    own = of_meters(readings, needs)
    lines = _cell_lines(own, limits, shards)
    clocks = [meter for meter, need in needs.items() if need.clocks]
    if clocks:
        lines = lines.unionByName(_window_lines("window", of_meters(readings, clocks)))
    before = [(meter, start) for meter, need in needs.items() for start in need.looked_up]
    if before:
        since = {meter: need.behind for meter, need in needs.items() if need.looked_up}
        lines = lines.unionByName(_window_lines("window-before", archive.read_since(since), before))
    arrivals = [meter for meter, need in needs.items() if need.arrivals]
    if arrivals:
        times = (F.unix_millis("received"), F.unix_millis("at"))
        lines = lines.unionByName(of_meters(readings, arrivals).select("meter", line("arrival", *times)))
    return _with_newest(by_meter(lines.repartition(shards, "meter")), own, shards)


def newest_readings(readings: DataFrame, shards: int) -> DataFrame:
    """Of each meter the reading at its latest time, as a line and as JSON; where several came for the same time the last to arrive."""
    order = ("at", "received", "origin")
    found = readings.groupBy("meter").agg(
        F.max_by(F.struct(*(name for name in COLUMNS if name != "meter")), F.struct(*order)).alias("newest"),
        F.max(F.when(F.col("meter_number").isNotNull(), F.struct(*order, "meter_number"))).alias("numbered"),
    )
    number = F.unix_millis("numbered.at"), quoted(F.col("numbered.meter_number"))
    return (
        found.select("meter", "newest.*", *(value.alias(f"number_{at}") for at, value in enumerate(number)))
        .select(
            "meter",
            line(
                "newest", *map(F.col, ("number_0", "number_1")), *(plain(F.col(name)) for name in _SHOWN)
            ).alias("newest"),
            lake_json().alias("reading"),
        )
        .repartition(shards, "meter")
    )


def _with_newest(gathered: DataFrame, readings: DataFrame, shards: int) -> DataFrame:
    # Not by broadcast: the driver would collect a reading of every meter.
    return gathered.join(newest_readings(readings, shards).hint("merge"), "meter")


def _window_lines(kind: str, readings: DataFrame, wanted: Sequence[tuple[str, int]] = ()) -> DataFrame:
    """Ten minutes of arrivals as `domain/clock.py` has them, all or these; readings that tell no time say nothing."""
    received = F.unix_millis("received")
    own = F.col("clock") == CLOCK_METER
    arrived, lag = F.when(own, received), F.when(own, received - F.unix_millis("at"))
    impossible = F.coalesce(F.array_contains("flags", CLOCK_WRONG), F.lit(False))
    windows = (
        readings.where(own | impossible)
        .groupBy("meter", (received - received % WINDOW_MS).alias("window"))
        .agg(
            F.min(arrived).alias("first"),
            F.max(arrived).alias("last"),
            F.min(lag).alias("least"),
            F.max(lag).alias("most"),
            F.max(impossible).alias("impossible"),
        )
    )
    if wanted:
        windows = windows.join(
            F.broadcast(given(readings.sparkSession, wanted, _WINDOWS)), ["meter", "window"], "left_semi"
        )
    columns = ("window", "first", "last", "least", "most", "impossible")
    return windows.select("meter", line(kind, *map(F.col, columns)))


def _cell_lines(readings: DataFrame, limits: Limits, shards: int) -> DataFrame:
    """A row per meter and five minutes: when its messages came, and whether their times fit that."""
    moments = (
        readings.select(
            "meter",
            F.unix_millis("at").alias("t"),
            F.unix_millis("received").alias("received"),
            F.array_contains("flags", CLOCK_WRONG).alias("impossible_time"),
        )
        .repartition(shards, "meter")
        .groupBy("meter", "t")
        .agg(
            F.max("received").alias("received"),
            F.min("received").alias("received_first"),
            F.max("impossible_time").alias("impossible_time"),
        )
    )
    cells = (
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
    return cells.select("meter", line("cell", *(F.col(name) for name in cells.columns if name != "meter")))
