"""What of the readings that are settled is folded natively: for all meters their cells, for some of them more."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.load_profile import Direction
from strom.domain.run_kinds import PHASES
from strom.domain.tariffs import TARIFF_FIELDS, TARIFFS, tariff_field
from strom.pipeline import cells as native
from strom.pipeline.given import given, of_meters
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.process.lines import by_meter, line, plain
from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.thousandths import thousandths

_TARIFF = ("meter", "tariff")
_BOUNDS = "import_since bigint, export_since bigint"


def folded(readings: DataFrame, limits: Limits, shards: int, *, has_tariffs: bool) -> DataFrame:
    """The cells of every meter; `has_tariffs`: whether any of the readings may count by tariff."""
    lines = _cell_lines(native.moments(readings, shards), limits)
    if has_tariffs:
        tariffs = _tariff_lines(tariff_moments(readings, shards), limits)
        lines = lines.unionByName(tariffs).repartition(shards, "meter")
    return by_meter(lines)


@contextmanager
def detailed(
    readings: DataFrame, archive: Archive, needs: Mapping[str, SettlementNeed], limits: Limits, shards: int
) -> Iterator[DataFrame]:
    """What these meters need: of those with late readings what the lake has, of the others what is among the readings."""
    rows = _of_them(readings, archive, needs).select(*native.FIELDS)
    spark = readings.sparkSession
    with held(rows) as rows:
        totals, tariffs = _bounds(needs)
        bounds = F.broadcast(given(spark, totals, f"meter string, reading int, since bigint, {_BOUNDS}"))
        moments = native.moments(rows, shards).join(bounds, "meter")
        lines = _cell_lines(moments, limits).unionByName(_moment_lines(moments.where("reading = 1")))
        bounds = F.broadcast(given(spark, tariffs, f"meter string, tariff int, reading int, {_BOUNDS}"))
        moments = tariff_moments(rows, shards).join(bounds, list(_TARIFF))
        lines = lines.unionByName(_tariff_lines(moments, limits))
        lines = lines.unionByName(_tariff_moment_lines(moments.where("reading = 1")))
        named = given(spark, ((meter,) for meter in needs), "meter string")
        lines = lines.unionByName(named.withColumn("line", F.lit(None).cast("string")))
        yield by_meter(lines.repartition(shards, "meter"))


def tariff_moments(readings: DataFrame, shards: int) -> DataFrame:
    """One row per meter, tariff and moment, as `moments` has one per meter and moment; readings without are left out."""
    wide = (
        readings.where(F.coalesce(*TARIFF_FIELDS).isNotNull())
        .select("meter", F.unix_millis("at").alias("t"), *TARIFF_FIELDS)
        .repartition(shards, "meter")
        .groupBy("meter", "t")
        .agg(*(F.max(thousandths(F.col(field))).alias(field) for field in TARIFF_FIELDS))
    )
    each = F.array(
        *(
            F.struct(
                F.lit(number).alias("tariff"),
                *(F.col(tariff_field(direction, number)).alias(f"{direction}_c") for direction in Direction),
                *(F.lit(None).cast("bigint").alias(f"{direction}_p") for direction in Direction),
            )
            for number in TARIFFS
        )
    )
    return wide.select("meter", "t", F.inline(each)).where(
        F.coalesce(*(f"{direction}_c" for direction in Direction)).isNotNull()
    )


def _of_them(readings: DataFrame, archive: Archive, needs: Mapping[str, SettlementNeed]) -> DataFrame:
    late = {meter: need.read_from for meter, need in needs.items() if need.late}
    others = needs.keys() - late.keys()
    found = [archive.read_since(late).select(*native.FIELDS)] if late else []
    if others:
        found.append(of_meters(readings, others).select(*native.FIELDS))
    return reduce(DataFrame.unionByName, found)


def _bounds(
    needs: Mapping[str, SettlementNeed],
) -> tuple[list[Sequence[str | int]], list[Sequence[str | int]]]:
    """Of each meter, and of each of its tariffs, behind which times its values are wanted."""
    totals: list[Sequence[str | int]] = []
    tariffs: list[Sequence[str | int]] = []
    for meter, need in needs.items():
        each = int(need.each)
        totals.append((meter, each, need.since, *(need.after(way.value) for way in Direction)))
        for number in TARIFFS:
            after = (need.after(f"{direction}_t{number}") for direction in Direction)
            tariffs.append((meter, number, each, *after))
    return totals, tariffs


def _cell_lines(moments: DataFrame, limits: Limits) -> DataFrame:
    columns = [
        *map(F.col, ("cell", "first_t", "last_t", "has_tariffs", "odd")),
        *(column for direction in Direction for column in native.stretch_columns(direction)),
        *(plain(F.col(name)) for name in ("totals", "counts", "lows", "highs")),
        *(F.col(f"{phase}{part}") for phase in PHASES for part in ("", "_n")),
    ]
    return native.cells(moments, limits).select("meter", line("cell", *columns))


def _tariff_lines(moments: DataFrame, limits: Limits) -> DataFrame:
    columns: list[Column] = [F.col("tariff"), F.col("cell")]
    columns += [column for direction in Direction for column in native.stretch_columns(direction)]
    return native.series_cells(moments, limits, _TARIFF).select("meter", line("tariff", *columns))


def _moment_lines(moments: DataFrame) -> DataFrame:
    names = ("t", "import_c", "import_p", "export_c", "export_p", *PHASES)
    return moments.select("meter", line("moment", *map(F.col, names)))


def _tariff_moment_lines(moments: DataFrame) -> DataFrame:
    names = ("tariff", "t", "import_c", "export_c")
    return moments.select("meter", line("tariff-moment", *map(F.col, names)))
