"""What a quarter-hour looked like beside its energy: power and voltages on average and at their extremes.

All are functions of the set of readings: of several at one moment the largest value counts, as for the counters.
Values are whole thousandths (mW, mV).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

# In this order wherever they stand in a row.
QUANTITIES = ("import_w", "export_w", "voltage_l1_v", "voltage_l2_v", "voltage_l3_v")
_THOUSANDTH = Decimal("0.001")


@dataclass(frozen=True, slots=True)
class Band:
    """The values of one quantity: their sum and number, the least and the largest."""

    total: int
    count: int
    low: int
    high: int

    @classmethod
    def of(cls, values: list[int]) -> "Band":
        return cls(sum(values), len(values), min(values), max(values))

    @property
    def mean(self) -> Decimal:
        mean = Decimal(self.total) / self.count / 1000
        return mean.quantize(_THOUSANDTH, ROUND_HALF_UP)


Statistics = Mapping[str, Band]  # by quantity; one that was never told is not in it


def shown(statistics: Statistics) -> dict[str, Decimal]:
    """As rows and records name them: `import_w_min`, `import_w_mean`, `import_w_max` …"""
    found: dict[str, Decimal] = {}
    for name in QUANTITIES:
        if name in statistics:
            band = statistics[name]
            found[f"{name}_min"] = Decimal(band.low) / 1000
            found[f"{name}_mean"] = band.mean
            found[f"{name}_max"] = Decimal(band.high) / 1000
    return found
