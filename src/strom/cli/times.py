"""Times and durations as people type them."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from strom.errors import StromError

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def moment(text: str, zone: str) -> int:
    """`2026-11-14`, `2026-11-14T12:30` or with an offset, as epoch ms; without an offset it is local time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise StromError(f"{text!r} is no time; write it as 2026-11-14 or 2026-11-14T12:30.") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=ZoneInfo(zone))
    return round(found.timestamp() * 1000)


def duration(text: str) -> int:
    """`90s`, `30m`, `12h`, `1d` or `2w`, in ms."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if match is None or float(match[1]) <= 0:
        raise StromError(f"{text!r} is no duration; write it as 90s, 30m, 12h, 1d or 2w.")
    return round(float(match[1]) * _UNITS_MS[match[2]])


def clock_text(epoch_ms: int, zone: str) -> str:
    """The local time of day, to the second."""
    return datetime.fromtimestamp(epoch_ms / 1000, ZoneInfo(zone)).strftime("%H:%M:%S")
