"""What a quarter-hour looked like beside its energy: power and voltages on average and at their extremes.

All are functions of the set of readings: of several at one moment the largest value counts, as for the counters.
Values are whole thousandths (mW, mV).
"""

from collections.abc import Mapping
from dataclasses import dataclass

# In this order wherever they stand in a row.
QUANTITIES = ("import_w", "export_w", "voltage_l1_v", "voltage_l2_v", "voltage_l3_v")
_SHOWN = tuple((name, f"{name}_min", f"{name}_mean", f"{name}_max") for name in QUANTITIES)


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
    def mean(self) -> int:
        """In thousandths as well; half of one away from zero, as Postgres rounds."""
        rounded = (2 * abs(self.total) + self.count) // (2 * self.count)
        return rounded if self.total >= 0 else -rounded


Statistics = Mapping[str, Band]  # by quantity; one that was never told is not in it


def shown(statistics: Statistics) -> dict[str, int]:
    """As rows and records name them: `import_w_min`, `import_w_mean`, `import_w_max` …, in thousandths."""
    found: dict[str, int] = {}
    for name, least, mean, largest in _SHOWN:
        band = statistics.get(name)
        if band is not None:
            found[least], found[mean], found[largest] = band.low, band.mean, band.high
    return found
