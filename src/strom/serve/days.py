"""Local days and their quarter-hours: 96, or 92 and 100 on the two days when the clocks change.

Pure: it is told the time zone and the time.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from strom.errors import StromError

SLOT = timedelta(minutes=15)


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise StromError(f"page.timezone is {name!r}: name one like Europe/Vienna.") from None


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    return moment.astimezone(zone).date()


def bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The midnights around a local day, in UTC."""
    midnights = [datetime.combine(each, time(), zone) for each in (day, day + timedelta(days=1))]
    return midnights[0].astimezone(UTC), midnights[1].astimezone(UTC)


def slots(day: date, zone: ZoneInfo) -> list[datetime]:
    """The starts of a local day's quarter-hours, in UTC."""
    start, end = bounds(day, zone)
    return [start + number * SLOT for number in range(round((end - start) / SLOT))]
