"""One native pass over the readings that are settled, for all that is made of measurements: a row per meter and five minutes.

Five minutes fit both a quarter-hour and a ten-minute window. Whether each counter followed the last one normally is
told by `lag`-like columns, so that only the meters where it did not are looked at reading by reading.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strom.domain.acceptance import MS_PER_HOUR_OVER_1000, ONE_WH
from strom.domain.load_profile import Direction
from strom.domain.run_kinds import PHASES
from strom.domain.tariffs import TARIFF_FIELDS
from strom.pipeline.alerts.oddities import odd_column
from strom.pipeline.bands import BANDS, EXACT, as_arrays, band_columns
from strom.pipeline.limits import Limits
from strom.pipeline.process.lines import plain
from strom.pipeline.thousandths import thousandths

CELL_MS = 300_000
MOST_VOLTS = 1_000_000
_NO_VALUE = -(2**62)
METER = ("meter",)  # what names a pair of series, import and export

# The fields of a reading that the moments are made of, and the tariffs.
FIELDS = (
    *("meter", "at", "received"),
    *(f"{direction}_{unit}" for direction in Direction for unit in ("wh", "w")),
    *(f"voltage_{phase}_v" for phase in PHASES),
    *TARIFF_FIELDS,
)


def moments(readings: DataFrame, shards: int) -> DataFrame:
    """One row per meter and moment: of several readings at the same `at` the largest values.

    Numbers only: with texts among them Spark would sort the readings here instead of hashing them. All of a meter are
    in one of so many partitions, which every step after this needs; so little of each reading is moved there only once.
    """
    values = {f"{direction}_c": thousandths(F.col(f"{direction}_wh")) for direction in Direction}
    values |= {f"{direction}_p": thousandths(F.col(f"{direction}_w")) for direction in Direction}
    values |= {phase: _voltage(f"voltage_{phase}_v") for phase in PHASES}
    values |= {
        "has_tariffs": F.coalesce(*TARIFF_FIELDS).isNotNull(),
    }
    return (
        readings.select("meter", F.unix_millis("at").alias("t"), *_named(values))
        .repartition(shards, "meter")
        .groupBy("meter", "t")
        .agg(*(F.max(name).alias(name) for name in values))
    )


def cells(moments: DataFrame, limits: Limits, by: Sequence[str] = METER) -> DataFrame:
    """A row per meter and cell with what the stages take from it. Few, wide steps: each one is analysed anew."""
    time = _after("t", moments, "since")
    return as_arrays(
        _followed(moments, limits, by)
        .withColumns({name: _after(name, moments, "since") for name in (*BANDS, "has_tariffs")})
        .groupBy(*by, cell_of("t"))
        .agg(
            F.min(time).alias("first_t"),
            F.max(time).alias("last_t"),
            F.max("has_tariffs").alias("has_tariffs"),
            *_stretches(),
            *band_columns(),
            odd_column(limits),
            F.max_by(_digest(), time).alias("last"),
        )
    )


def series_cells(moments: DataFrame, limits: Limits, by: Sequence[str] = METER) -> DataFrame:
    """Of each cell only what its series take from it."""
    return _followed(moments, limits, by).groupBy(*by, cell_of("t")).agg(*_stretches())


def stretch_columns(direction: Direction) -> list[Column]:
    """What a series takes from a cell, in the order of `process/folded.py`."""
    names = ("samples", "first_t", "last_t", "first_v", "last_v", "normal", "counter")
    return [*(F.col(f"{direction}_{name}") for name in names), plain(F.col(f"{direction}_held"))]


def _after(name: str, frame: DataFrame, since: str) -> Column:
    """The column where its time lies behind a bound of the meter, if the frame has such."""
    return F.when(F.col("t") > F.col(since), F.col(name)) if since in frame.columns else F.col(name)


def cell_of(time: str) -> Column:
    """The start of the five minutes in which a time (epoch ms) lies, as `cell`."""
    return (F.col(time) - F.col(time) % CELL_MS).alias("cell")


def _in_order(by: Sequence[str] = METER) -> WindowSpec:
    return Window.partitionBy(*by).orderBy("t")


def _followed(moments: DataFrame, limits: Limits, by: Sequence[str]) -> DataFrame:
    """Each moment with how its values follow those before them."""
    return (
        moments.transform(limits.beside)
        .transform(lambda frame: _valued(frame, by))
        .transform(lambda frame: _beside_the_last(frame, by))
        .transform(lambda frame: _stepped(frame, limits.limit_sql))
    )


def _voltage(field: str) -> Column:
    """Beyond a million volts it is no voltage, and sums of such would not fit 64 bits."""
    return thousandths(F.when(F.abs(F.col(field)) < MOST_VOLTS, F.col(field)))


def _named(columns: Mapping[str, Column]) -> list[Column]:
    return [column.alias(name) for name, column in columns.items()]


def _valued(frame: DataFrame, by: Sequence[str]) -> DataFrame:
    """A meter with any counter of a direction is read by counter, one without by power."""
    # In the order that the next steps need: the rows are sorted once.
    all_of_it = _in_order(by).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    columns: dict[str, Column] = {}
    for direction in Direction:
        counter, power = (_after(f"{direction}_{kind}", frame, f"{direction}_since") for kind in ("c", "p"))
        counted = F.max(counter.isNotNull()).over(all_of_it)
        columns[f"{direction}_counter"] = counted
        columns[f"{direction}_v"] = F.when(counted, counter).otherwise(power)
    return frame.withColumns(columns)


def _beside_the_last(frame: DataFrame, by: Sequence[str]) -> DataFrame:
    """Each value beside the one before it."""
    before = _in_order(by).rowsBetween(Window.unboundedPreceding, -1)
    columns: dict[str, Column] = {}
    for direction in Direction:
        value = F.col(f"{direction}_v")
        columns[f"{direction}_v0"] = F.last(value, True).over(before)
        columns[f"{direction}_t0"] = F.last(F.when(value.isNotNull(), F.col("t")), True).over(before)
    return frame.withColumns(columns)


def _stepped(frame: DataFrame, limit: str) -> DataFrame:
    """Is the step to each value normal, and how much held power lies before it in its cell?"""
    columns: dict[str, Column] = {}
    for direction in Direction:
        value, counter = F.col(f"{direction}_v"), F.col(f"{direction}_counter")
        before_v, before_t = F.col(f"{direction}_v0"), F.col(f"{direction}_t0")
        grown = value - before_v
        # Both sides are whole numbers: at most the limit means at most its whole part.
        most = F.expr(f"(t - {direction}_t0) * {limit} div {MS_PER_HOUR_OVER_1000} + {ONE_WH}")
        columns[f"{direction}_normal"] = (
            ~counter | before_v.isNull() | value.isNull() | ((grown >= 0) & (grown <= most))
        )
        together = (before_t >= F.col("t") - F.col("t") % CELL_MS) & ~counter & value.isNotNull()
        apart = (F.col("t") - before_t).cast("decimal(7,0)")
        columns[f"{direction}_held"] = F.when(together, before_v.cast(EXACT) * apart)
    return frame.withColumns(columns)


def _stretches() -> list[Column]:
    return [column for direction in Direction for column in _stretch(direction)]


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


def _digest() -> Column:
    """A number that is the same for moments with the same values, but for those of tariffs."""
    names = (*(f"{direction}_{kind}" for direction in Direction for kind in ("c", "p")), *PHASES)
    # A null would leave the hash as it is, wherever it stands.
    return F.xxhash64(*(F.coalesce(F.col(name), F.lit(_NO_VALUE)) for name in names))


def received_step() -> Column:
    """How far apart neighbours arrived; whatever the order, a silence shows as a large step somewhere."""
    before = F.lag("received").over(_in_order())
    return F.greatest(F.abs(F.col("received") - before), F.col("received") - F.col("received_first"))
