"""Durations as people write them, in settings, in flags and in the heads of queries."""

import re

from strom.errors import StromError

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
DURATION_PATTERN = r"^\d+(\.\d+)?[smhdw]$"


def duration(text: str) -> int:
    """`90s`, `30m`, `12h`, `1d` or `2w`, in ms."""
    found = text.strip()
    if re.fullmatch(DURATION_PATTERN, found) is None or float(found[:-1]) <= 0:
        raise StromError(f"{text!r} is no duration; write it as 90s, 30m, 12h, 1d or 2w.")
    return round(float(found[:-1]) * _UNITS_MS[found[-1]])
