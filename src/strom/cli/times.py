"""Times as people type and read them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from strom.durations import duration as duration
from strom.errors import StromError


def moment(text: str, zone: str) -> int:
    """`2026-11-14`, `2026-11-14T12:30` or with an offset, as epoch ms; without an offset it is local time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise StromError(f"{text!r} is no time; write it as 2026-11-14 or 2026-11-14T12:30.") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=ZoneInfo(zone))
    return round(found.timestamp() * 1000)


def clock_text(epoch_ms: int, zone: str) -> str:
    """The local time of day, to the second."""
    return datetime.fromtimestamp(epoch_ms / 1000, ZoneInfo(zone)).strftime("%H:%M:%S")
