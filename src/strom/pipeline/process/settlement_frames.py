"""What of the readings that are settled is folded natively: for all meters their cells, for some of them more."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.load_profile import Direction
from strom.domain.run_kinds import PHASES
from strom.domain.tariffs import TARIFF_FIELDS, TARIFFS, tariff_field
from strom.pipeline import cells as native
from strom.pipeline.given import given, of_meters
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive, Span
from strom.pipeline.limits import Limits
from strom.pipeline.process.lines import by_meter, line, plain
from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.thousandths import thousandths

_PART, _TARIFF, _TARIFF_PART = ("meter", "part"), ("meter", "tariff"), ("meter", "tariff", "part")
_BOUNDS = "part int, reading int, begin bigint, until bigint, since bigint, import_since bigint, export_since bigint"

_LAST = 2**62

Bounds = list[Sequence[str | int]]


def folded(readings: DataFrame, limits: Limits, shards: int, *, has_tariffs: bool) -> DataFrame:
    """The cells of every meter; `has_tariffs`: whether any of the readings may count by tariff."""
    lines = _cell_lines(native.moments(readings, shards), limits, native.METER)
    if has_tariffs:
        tariffs = _tariff_lines(tariff_moments(readings, shards), limits, _TARIFF)
        lines = lines.unionByName(tariffs).repartition(shards, "meter")
    return by_meter(lines)


@contextmanager
def detailed(
    readings: DataFrame, archive: Archive, needs: Mapping[str, SettlementNeed], limits: Limits, shards: int
) -> Iterator[DataFrame]:
    """What these meters need: of those with late readings what the lake has, of the others what is among the readings."""
    rows = _of_them(readings, archive, needs).select(*native.FIELDS)
    spark = readings.sparkSession
    each = any(need.each for need in needs.values())
    with_tariffs = {meter: need for meter, need in needs.items() if need.tariffs}
    with held(rows) if each or with_tariffs else nullcontext(rows) as rows:
        totals, tariffs = _bounds(needs), _tariff_bounds(with_tariffs)
        moments = _in_parts(
            native.moments(rows, shards), given(spark, totals, f"meter string, {_BOUNDS}"), native.METER
        )
        lines = _cell_lines(moments, limits, _PART)
        if each:
            lines = lines.unionByName(_moment_lines(moments.where("reading = 1")))
        if tariffs:
            bounds = given(spark, tariffs, f"meter string, tariff int, {_BOUNDS}")
            moments = _in_parts(tariff_moments(rows, shards), bounds, _TARIFF)
            lines = lines.unionByName(_tariff_lines(moments, limits, _TARIFF_PART))
            if each:
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
    late: list[Span] = [(meter, need.read_from + 1, None) for meter, need in needs.items() if need.late]
    late += [(meter, window.begin, window.end) for meter, need in needs.items() for window in need.windows]
    others = [meter for meter, need in needs.items() if not need.late]
    found = [archive.read_spans(late).select(*native.FIELDS)] if late else []
    if others:
        found.append(of_meters(readings, others).select(*native.FIELDS))
    return reduce(DataFrame.unionByName, found)


def _in_parts(moments: DataFrame, bounds: DataFrame, by: Sequence[str]) -> DataFrame:
    """Each moment with the part that it lies in, and the bounds of that."""
    within = (F.col("t") >= F.col("begin")) & (F.col("t") < F.col("until"))
    renamed = bounds.withColumnsRenamed({name: f"_{name}" for name in by})
    same = reduce(Column.__and__, (F.col(name) == F.col(f"_{name}") for name in by))
    return moments.join(F.broadcast(renamed), same & within)


def _bounds(needs: Mapping[str, SettlementNeed]) -> Bounds:
    """Of the parts of each meter, from where to where they are, and behind which times their values are wanted."""
    found: Bounds = []
    for meter, need in needs.items():
        after = (need.after(way.value) for way in Direction)
        found.append((meter, 0, int(need.each), _begin(need), _LAST, need.since, *after))
        for part, window in enumerate(need.windows, 1):
            after = (window.series.get(way.value, window.begin - 1) for way in Direction)
            found.append((meter, part, 0, window.begin, window.end, window.begin - 1, *after))
    return found


def _begin(need: SettlementNeed) -> int:
    """Of what is no late window."""
    return (need.read_from if need.late else need.behind) + 1


def _tariff_bounds(needs: Mapping[str, SettlementNeed]) -> Bounds:
    """The same of each of its tariffs."""
    found: Bounds = []
    for meter, need in needs.items():
        for number in TARIFFS:
            names = [f"{direction}_t{number}" for direction in Direction]
            after = (need.after(name) for name in names)
            found.append((meter, number, 0, int(need.each), _begin(need), _LAST, need.since, *after))
            for part, window in enumerate(need.windows, 1):
                after = (window.series.get(name, window.begin - 1) for name in names)
                found.append((meter, number, part, 0, window.begin, window.end, window.begin - 1, *after))
    return found


def _cell_lines(moments: DataFrame, limits: Limits, by: Sequence[str]) -> DataFrame:
    columns = [
        F.col("part") if "part" in by else F.lit(0),
        *map(F.col, ("cell", "first_t", "last_t", "has_tariffs", "odd")),
        *(column for direction in Direction for column in native.stretch_columns(direction)),
        *(plain(F.col(name)) for name in ("totals", "counts", "lows", "highs")),
        *(F.col(f"{phase}{part}") for phase in PHASES for part in ("", "_n")),
        F.col("last"),
    ]
    return native.cells(moments, limits, by).select("meter", line("cell", *columns))


def _tariff_lines(moments: DataFrame, limits: Limits, by: Sequence[str]) -> DataFrame:
    columns: list[Column] = [F.col("part") if "part" in by else F.lit(0), F.col("tariff"), F.col("cell")]
    columns += [column for direction in Direction for column in native.stretch_columns(direction)]
    return native.series_cells(moments, limits, by).select("meter", line("tariff", *columns))


def _moment_lines(moments: DataFrame) -> DataFrame:
    names = ("t", "import_c", "import_p", "export_c", "export_p", *PHASES)
    return moments.select("meter", line("moment", *map(F.col, names)))


def _tariff_moment_lines(moments: DataFrame) -> DataFrame:
    names = ("tariff", "t", "import_c", "export_c")
    return moments.select("meter", line("tariff-moment", *map(F.col, names)))
