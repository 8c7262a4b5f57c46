"""Durations as people write them, in settings, in flags and in the heads of queries."""

import re

from strom.errors import StromError

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
DURATION_PATTERN = r"^\d+(\.\d+)?[smhdw]$"
# Less would be nothing, for they are counted in ms; more is a slip, and no clock can be set by it.
SHORTEST, LONGEST = "0.001s", "5200w"


def duration(text: str, shortest: str = SHORTEST, longest: str = LONGEST) -> int:
    """`90s`, `30m`, `12h`, `1d` or `2w`, in ms."""
    found = text.strip()
    if re.fullmatch(DURATION_PATTERN, found) is None or float(found[:-1]) <= 0:
        raise StromError(f"{text!r} is no duration; write it as 90s, 30m, 12h, 1d or 2w.")
    if not _ms(shortest) <= _ms(found) <= _ms(longest):
        raise StromError(f"{text!r} is too short or too long; choose from {shortest} to {longest}.")
    return round(_ms(found))


def _ms(text: str) -> float:
    return float(text[:-1]) * _UNITS_MS[text[-1]]
