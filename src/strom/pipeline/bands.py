"""Of each power and voltage in a stretch of time the sum, the number, the least and the largest, in the form that the table adds up."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.load_profile import Direction
from strom.domain.run_kinds import PHASES

EXACT = "decimal(20,0)"  # sums and products of hostile values do not fit 64 bits

_LOWER_BITS = 31
_LOWER = 1 << _LOWER_BITS
BANDS = (*(f"{direction}_p" for direction in Direction), *PHASES)  # in the order of `domain/statistics.py`
_PARTS = {"totals": "", "counts": "_n", "lows": "_low", "highs": "_high"}
# Ten-minute means are made of these, too.
_KEPT = {f"{phase}{part}" for phase in PHASES for part in ("", "_n")}


def band_columns() -> list[Column]:
    """To aggregate moments with."""
    return [
        column
        for name in BANDS
        for column in (
            _sum(name).alias(name),
            F.count(name).alias(f"{name}_n"),
            F.min(name).alias(f"{name}_low"),
            F.max(name).alias(f"{name}_high"),
        )
    ]


def _sum(name: str) -> Column:
    """Exact, as the sums of the upper and the lower bits: each fits 64 bits, and sums of decimals take several times as long."""
    upper, lower = F.shiftright(name, _LOWER_BITS), F.col(name).bitwiseAND(_LOWER - 1)
    return F.sum(upper).cast(EXACT) * _LOWER + F.sum(lower)


def as_arrays(aggregated: DataFrame) -> DataFrame:
    """The bands as `totals`, `counts`, `lows` and `highs`, texts that Postgres reads as arrays: Python only passes them on."""
    arrays = {name: _array(name, part) for name, part in _PARTS.items()}
    told = {f"{band}{part}" for band in BANDS for part in _PARTS.values()}
    return aggregated.withColumns(arrays).drop(*(told - _KEPT))


def _array(name: str, part: str) -> Column:
    nothing = F.lit("0" if name == "totals" else "NULL")
    numbers = [F.coalesce(F.col(f"{band}{part}").cast("string"), nothing) for band in BANDS]
    return F.concat(F.lit("{"), F.concat_ws(",", *numbers), F.lit("}"))
