"""The shapes of a year: household load, heat, the sun over Vienna; and the sun's way through one day.

Pure formulas that know nothing of single meters.
"""

import math
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from itertools import accumulate

from strom.devices.simulator.h0 import QUARTERS

LATITUDE, LONGITUDE = 48.2, 16.4
FIRST_YEAR = 2020  # counters began here; earlier times are no plausible meter times either


class Year:
    """A quantity by day of the year with mean 1, and its sum since FIRST_YEAR: counters need no replay."""

    def __init__(self, shape: Callable[[int], float]) -> None:
        raw = [shape(day) for day in range(366)]
        mean = sum(raw[:365]) / 365
        self._values = tuple(value / mean for value in raw)
        self._before = tuple(accumulate(self._values, initial=0.0))

    def value(self, day: date) -> float:
        return self._values[_day_of_year(day)]

    def before(self, day: date) -> float:
        """The sum over all days from FIRST_YEAR up to, but without, this one."""
        years = day.year - FIRST_YEAR
        leap_days = (day.year - 1) // 4 - (FIRST_YEAR - 1) // 4
        return years * self._before[365] + leap_days * self._values[365] + self._before[_day_of_year(day)]


def _day_of_year(day: date) -> int:
    return day.timetuple().tm_yday - 1


@lru_cache(maxsize=1)
def household_year() -> Year:
    """The factor that makes H0 dynamic: a quarter more in winter, a quarter less in summer."""
    return Year(lambda d: -3.92e-10 * d**4 + 3.2e-7 * d**3 - 7.02e-5 * d**2 + 2.1e-3 * d + 1.24)


@lru_cache(maxsize=1)
def heating_year() -> Year:
    """Heat by the degrees missing to 16 °C, and warm water all year."""
    return Year(lambda d: max(0.0, 16 - mean_temperature(d)) + 2.5)


@lru_cache(maxsize=1)
def solar_year() -> Year:
    """What the sun's height gives in a day, less the greyer sky of winter."""
    return Year(lambda d: sum(sun_of_day(d)) * (0.75 - 0.25 * math.cos(2 * math.pi * (d - 10) / 365)))


def mean_temperature(day_of_year: float) -> float:
    """Vienna in °C, without weather: coldest late in January."""
    return 10.5 - 10.5 * math.cos(2 * math.pi * (day_of_year - 20) / 365)


def sun_of_day(day_of_year: int) -> tuple[float, ...]:
    """The sine of the sun's height in the middle of each quarter-hour of a UTC day; 0 while it is down."""
    tilt = math.radians(-23.44) * math.cos(2 * math.pi * (day_of_year + 10) / 365.25)
    spin = 2 * math.pi * (day_of_year - 81) / 364
    time_minutes = 9.87 * math.sin(2 * spin) - 7.53 * math.cos(spin) - 1.5 * math.sin(spin)
    high = math.sin(math.radians(LATITUDE)) * math.sin(tilt)
    wide = math.cos(math.radians(LATITUDE)) * math.cos(tilt)
    noon = 12 - LONGITUDE / 15 - time_minutes / 60
    return tuple(
        max(0.0, high + wide * math.cos(math.radians(15 * ((quarter + 0.5) / 4 - noon))))
        for quarter in range(QUARTERS)
    )
