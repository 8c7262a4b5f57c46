"""Local days as the page shows them, made of the domain's quarter-hours; told the time zone and the time."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from strom.domain.slots import SLOT_MS, day_slots
from strom.errors import StromError

SLOT = timedelta(milliseconds=SLOT_MS)


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise StromError(f"page.timezone is {name!r}: name one like Europe/Vienna.") from None


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    return moment.astimezone(zone).date()


def slots(day: date, zone: ZoneInfo) -> list[datetime]:
    """The starts of a local day's quarter-hours, in UTC."""
    return [datetime.fromtimestamp(start / 1000, UTC) for start in day_slots(day, zone.key)]


def bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The midnights around a local day, in UTC."""
    starts = slots(day, zone)
    return starts[0], starts[-1] + SLOT
