"""The tariffs that a meter counts: each is a pair of series, import and export, that follows the rules of the totals.

Only counters have tariffs; power has none, so nothing is calculated from it.
"""

from typing import NamedTuple

from strom.domain.load_profile import Direction

TARIFFS = range(1, 5)  # as in OBIS: 1.8.1 to 1.8.4 and 2.8.1 to 2.8.4; the total is 0


class Tariff(NamedTuple):
    """One tariff of one meter."""

    meter: str
    number: int


Owner = str | Tariff  # whose import and export it is: a meter's totals, or a tariff of it


def meter_of(owner: Owner) -> str:
    return owner.meter if isinstance(owner, Tariff) else owner


def tariff_field(direction: Direction, number: int) -> str:
    """The counter's name in a reading."""
    return f"{direction}_t{number}_wh"


TARIFF_FIELDS = tuple(tariff_field(direction, number) for direction in Direction for number in TARIFFS)
