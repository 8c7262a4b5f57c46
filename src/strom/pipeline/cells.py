"""One native pass over readings that tells every stage what it needs: a row per meter and five minutes.

Five minutes fit both a quarter-hour and a ten-minute window. Whether each counter followed the last one normally is
told by `lag`-like columns, so that only the meters where it did not are looked at reading by reading.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strom.domain.acceptance import MS_PER_HOUR_OVER_1000, ONE_WH
from strom.domain.load_profile import Direction
from strom.domain.segments import Rules

CELL_MS = 300_000
PHASES = ("l1", "l2", "l3")

_EXACT = "decimal(20,0)"  # the product of hostile powers and times does not fit 64 bits


def moments(readings: DataFrame) -> DataFrame:
    """One row per meter and moment: of several readings at the same `at` the largest values."""
    later = F.struct("received", "origin")
    return readings.groupBy("meter", F.unix_millis("at").alias("t")).agg(
        *(_milli(f"{direction}_wh", f"{direction}_c") for direction in Direction),
        *(_milli(f"{direction}_w", f"{direction}_p") for direction in Direction),
        *(_milli(f"voltage_{phase}_v", phase) for phase in PHASES),
        F.unix_millis(F.max("received")).alias("received"),
        F.unix_millis(F.min("received")).alias("received_first"),
        F.max_by("value", later).alias("value"),
        F.max_by("meter_number", F.when(F.col("meter_number").isNotNull(), later)).alias("meter_number"),
    )


def series(moments: DataFrame, direction: Direction) -> DataFrame:
    """The points of one direction's series: `t`, `v` and whether `v` is a counter."""
    return (
        moments.transform(lambda frame: _valued(frame, direction))
        .where(F.col(f"{direction}_v").isNotNull())
        .select(
            "meter", "t", F.col(f"{direction}_v").alias("v"), F.col(f"{direction}_counter").alias("counter")
        )
    )


def cells(moments: DataFrame, rules: Rules) -> DataFrame:
    """A row per meter and cell with what the stages take from it."""
    stepped = reduce(lambda frame, direction: _stepped(frame, direction, rules), Direction, moments)
    return (
        stepped.withColumn("received_step", _received_step())
        .groupBy("meter", (F.col("t") - F.col("t") % CELL_MS).alias("cell"))
        .agg(
            F.min("t").alias("first_t"),
            F.max("t").alias("last_t"),
            F.count("*").alias("samples"),
            F.min("received_first").alias("received_first"),
            F.max("received").alias("received"),
            F.max("received_step").alias("received_step"),
            F.max_by("value", "t").alias("value"),
            F.max_by("received", "t").alias("newest_received"),
            F.max_by("meter_number", F.when(F.col("meter_number").isNotNull(), F.col("t"))).alias(
                "meter_number"
            ),
            *(column for direction in Direction for column in _stretch(direction)),
            *(
                column
                for phase in PHASES
                for column in (F.sum(phase).alias(phase), F.count(phase).alias(f"{phase}_n"))
            ),
        )
    )


def _in_order() -> WindowSpec:
    return Window.partitionBy("meter").orderBy("t")


def _milli(field: str, name: str) -> Column:
    return (F.max(field) * 1000).cast("bigint").alias(name)


def _valued(frame: DataFrame, direction: Direction) -> DataFrame:
    """A meter with any counter of this direction is read by counter, one without by power."""
    counter, power = F.col(f"{direction}_c"), F.col(f"{direction}_p")
    return frame.withColumn(
        f"{direction}_counter", F.max(counter.isNotNull()).over(Window.partitionBy("meter"))
    ).withColumn(f"{direction}_v", F.when(F.col(f"{direction}_counter"), counter).otherwise(power))


def _stepped(frame: DataFrame, direction: Direction, rules: Rules) -> DataFrame:
    """Each value beside the one before it: is the step normal, and how much held power lies between in the cell?"""
    valued = _valued(frame, direction)
    value, counter = F.col(f"{direction}_v"), F.col(f"{direction}_counter")
    time = F.when(value.isNotNull(), F.col("t"))
    before = _in_order().rowsBetween(Window.unboundedPreceding, -1)
    before_v, before_t = F.last(value, True).over(before), F.last(time, True).over(before)
    apart = F.col("t") - F.col(f"{direction}_t0")
    grown = value - F.col(f"{direction}_v0")
    # Both sides are whole numbers: at most the limit means at most its whole part.
    carried = F.expr(f"(t - {direction}_t0) * {rules.limit_w} div {MS_PER_HOUR_OVER_1000}")
    normal = (
        ~counter
        | F.col(f"{direction}_v0").isNull()
        | value.isNull()
        | ((grown >= 0) & (grown <= carried + ONE_WH))
    )
    together = (F.col(f"{direction}_t0") >= F.col("t") - F.col("t") % CELL_MS) & ~counter & value.isNotNull()
    held = F.when(together, F.col(f"{direction}_v0").cast(_EXACT) * apart.cast("decimal(7,0)"))
    return (
        valued.withColumn(f"{direction}_v0", before_v)
        .withColumn(f"{direction}_t0", before_t)
        .withColumn(f"{direction}_normal", normal)
        .withColumn(f"{direction}_held", held)
    )


def _stretch(direction: Direction) -> list[Column]:
    value = F.col(f"{direction}_v")
    time = F.when(value.isNotNull(), F.col("t"))
    return [
        F.count(value).alias(f"{direction}_samples"),
        F.min(time).alias(f"{direction}_first_t"),
        F.max(time).alias(f"{direction}_last_t"),
        F.min_by(value, time).alias(f"{direction}_first_v"),
        F.max_by(value, time).alias(f"{direction}_last_v"),
        F.bool_and(f"{direction}_normal").alias(f"{direction}_normal"),
        F.bool_or(f"{direction}_counter").alias(f"{direction}_counter"),
        F.sum(f"{direction}_held").alias(f"{direction}_held"),
    ]


def _received_step() -> Column:
    """How far apart neighbours arrived; whatever the order, a silence shows as a large step somewhere."""
    before = F.lag("received").over(_in_order())
    return F.greatest(F.abs(F.col("received") - before), F.col("received") - F.col("received_first"))
