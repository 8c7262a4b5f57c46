"""Household load by the hour in the manner of the standard profile H0: three seasons, three kinds of day."""

import math
from datetime import date
from functools import lru_cache

QUARTERS = 96  # of a day

# Mean watts of each hour for a household of 1,000 kWh a year: quiet nights, a noon peak, a high evening.
# fmt: off
_WINTER_WEEKDAY = (
    72, 52, 43, 40, 40, 46, 80, 128, 138, 134, 132, 139,
    152, 144, 125, 118, 124, 160, 205, 221, 201, 168, 138, 104,
)
_WINTER_SATURDAY = (
    90, 67, 51, 44, 42, 43, 55, 88, 133, 163, 172, 173,
    176, 164, 148, 141, 146, 175, 210, 217, 190, 158, 138, 116,
)
_WINTER_SUNDAY = (
    92, 70, 54, 45, 41, 40, 44, 62, 104, 150, 186, 217,
    227, 191, 150, 128, 124, 147, 186, 204, 184, 160, 133, 99,
)
_SUMMER_WEEKDAY = (
    83, 62, 51, 47, 46, 51, 76, 110, 128, 133, 136, 145,
    158, 147, 129, 121, 120, 131, 153, 167, 163, 157, 151, 116,
)
_SUMMER_SATURDAY = (
    99, 77, 61, 53, 50, 51, 60, 88, 129, 157, 166, 169,
    172, 158, 140, 131, 129, 138, 154, 161, 154, 147, 142, 121,
)
_SUMMER_SUNDAY = (
    102, 80, 64, 54, 50, 48, 51, 68, 108, 150, 181, 208,
    217, 180, 142, 122, 116, 124, 143, 155, 151, 150, 142, 108,
)
# fmt: on


def _between(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((a + b) // 2 for a, b in zip(one, other, strict=True))


WINTER, TRANSITION, SUMMER = range(3)
WEEKDAY, SATURDAY, SUNDAY = range(3)
H0_HOURS = {
    WINTER: (_WINTER_WEEKDAY, _WINTER_SATURDAY, _WINTER_SUNDAY),
    TRANSITION: (
        _between(_WINTER_WEEKDAY, _SUMMER_WEEKDAY),
        _between(_WINTER_SATURDAY, _SUMMER_SATURDAY),
        _between(_WINTER_SUNDAY, _SUMMER_SUNDAY),
    ),
    SUMMER: (_SUMMER_WEEKDAY, _SUMMER_SATURDAY, _SUMMER_SUNDAY),
}


def season_of(day: date) -> int:
    """H0's three seasons: winter to 20 March, summer from 15 May to 14 September, transition between."""
    key = (day.month, day.day)
    if key >= (11, 1) or key <= (3, 20):
        return WINTER
    return SUMMER if (5, 15) <= key <= (9, 14) else TRANSITION


def day_type(day: date) -> int:
    return (WEEKDAY, SATURDAY, SUNDAY)[max(0, day.weekday() - 4)]


@lru_cache(maxsize=9)
def h0_quarters(season: int, kind: int) -> tuple[float, ...]:
    """The day's curve by quarter-hours of local time: the hours' values joined by lines."""
    hours = H0_HOURS[season][kind]
    curve = []
    for quarter in range(QUARTERS):
        position = (quarter + 0.5) / 4 - 0.5
        hour = math.floor(position)
        part = position - hour
        curve.append(hours[hour % 24] * (1 - part) + hours[(hour + 1) % 24] * part)
    return tuple(curve)
