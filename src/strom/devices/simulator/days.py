"""What all premises share on one UTC day: local time, household curve and sun by quarter-hour; no meter."""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from strom.devices.simulator.h0 import QUARTERS, day_type, h0_quarters, season_of
from strom.devices.simulator.profiles import sun_of_day

ZONE = ZoneInfo("Europe/Vienna")
DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1)


class Day(NamedTuple):
    """One UTC day: always 96 quarter-hours, of which the local day owns 92 to 100."""

    date: date
    quarters: tuple[int, ...]  # quarter-hour of the local day, 0–95
    household: tuple[float, ...]  # H0 by UTC quarter-hour
    sun: tuple[float, ...]  # sine of the sun's height
    offset_ms: tuple[int, ...]  # local time minus UTC

    @property
    def weekday(self) -> int:
        return self.date.weekday()


def date_of(number: int) -> date:
    return _EPOCH + timedelta(days=number)


def number_of(day: date) -> int:
    return (day - _EPOCH).days


@lru_cache(maxsize=8)
def day_at(number: int) -> Day:
    """The day with this number since 1970."""
    day = date_of(number)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    locals_ = [(midnight + timedelta(minutes=15 * slot)).astimezone(ZONE) for slot in range(QUARTERS)]
    quarters = tuple(moment.hour * 4 + moment.minute // 15 for moment in locals_)
    household = tuple(
        h0_quarters(season_of(moment.date()), day_type(moment.date()))[quarter]
        for moment, quarter in zip(locals_, quarters, strict=True)
    )
    offsets = tuple(int((moment.utcoffset() or timedelta()).total_seconds()) * 1000 for moment in locals_)
    return Day(day, quarters, household, sun_of_day(day.timetuple().tm_yday - 1), offsets)
