"""Which counters quarter-hours are made of: a meter's totals, or its tariffs. All that follows is the same for both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.load_profile import Direction
from strom.domain.tariffs import TARIFF_FIELDS, TARIFFS, Owner, Tariff, tariff_field
from strom.pipeline import cells as native
from strom.pipeline.series import OwnerOf
from strom.pipeline.thousandths import thousandths


@dataclass(frozen=True, slots=True)
class Registers:
    """`by` names a pair of series in a frame, `owner` in a collected row of one."""

    by: tuple[str, ...]
    schema: str  # of `by`
    moments: Callable[[DataFrame], DataFrame]
    owner: OwnerOf

    def columns(self, owner: Owner) -> Sequence[str | int]:
        """The values of `by`."""
        return owner if isinstance(owner, Tariff) else (owner,)


def tariff_moments(readings: DataFrame) -> DataFrame:
    """One row per meter, tariff and moment, as `moments` has one per meter and moment; readings without are left out."""
    wide = (
        readings.where(F.coalesce(*TARIFF_FIELDS).isNotNull())
        .select("meter", F.unix_millis("at").alias("t"), *TARIFF_FIELDS)
        .repartition("meter")
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


METER_TOTALS = Registers(native.METER, "meter string", native.moments, lambda cell: cell["meter"])
METER_TARIFFS = Registers(
    ("meter", "tariff"),
    "meter string, tariff int",
    tariff_moments,
    lambda cell: Tariff(cell["meter"], cell["tariff"]),
)
