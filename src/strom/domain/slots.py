"""Quarter-hours: where they begin, in UTC milliseconds, and which of them make up a local day."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

SLOT_MS = 900_000  # 15 minutes; the only length that the market knows
SLOT_SECONDS = SLOT_MS // 1000


def slot_of(at_ms: int) -> int:
    """Start of the slot that holds this moment; a border belongs to the slot that begins there."""
    return at_ms - at_ms % SLOT_MS


def slots_from(start_ms: int, end_ms: int) -> range:
    """Starts of the slots in [start, end)."""
    return range(start_ms, end_ms, SLOT_MS)


def day_slots(day: date, timezone: str) -> range:
    """Starts of a local day's slots: 96, or 92 and 100 on the two days on which the clocks change."""
    return slots_from(_local_midnight(day, timezone), _local_midnight(day + timedelta(days=1), timezone))


def expected_samples(interval_s: float | None) -> int | None:
    """How many readings a slot should hold at this push interval; at least one."""
    return None if not interval_s else max(1, round(SLOT_SECONDS / interval_s))


def _local_midnight(day: date, timezone: str) -> int:
    return int(datetime.combine(day, time.min, ZoneInfo(timezone)).timestamp()) * 1000
