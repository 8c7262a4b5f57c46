"""Where reading begins: at the first record, after the last, at an offset, or at a time."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from zoneinfo import ZoneInfo

from confluent_kafka.admin import AdminClient

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.offsets import Partition, end_offsets, first_offsets, offsets_at


class Kind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"  # a negative one counts from the end
    TIME = "time"  # the first record at or after it


@dataclass(frozen=True)
class Start:
    kind: Kind
    value: int = 0  # the offset, or epoch ms


EARLIEST = Start(Kind.EARLIEST)
LATEST = Start(Kind.LATEST)
AnyStart = Start | str | int | datetime  # a text as on the command line, an offset, a time


def as_start(given: AnyStart, timezone: str = "UTC") -> Start:
    """Whatever says where reading begins; a time without a zone is local to `timezone`."""
    if isinstance(given, Start):
        return given
    if isinstance(given, datetime):
        return Start(Kind.TIME, epoch_ms(given, timezone))
    return Start(Kind.OFFSET, given) if isinstance(given, int) else parse_start(given, timezone)


def parse_start(text: str, timezone: str = "UTC") -> Start:
    """`earliest`, `latest`, an offset or an ISO time; a time without a zone is local to `timezone`."""
    if text in (Kind.EARLIEST.value, Kind.LATEST.value):
        return Start(Kind(text))
    if text.removeprefix("-").isdecimal() and text.isascii():
        return Start(Kind.OFFSET, min(int(text[:20]), 2**62))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise StromError(
            f"--from {text!r} is neither earliest, latest, an offset nor a time; "
            "write a time as 2026-11-15T20:15 or 2026-11-15T20:15:00Z."
        ) from None
    return Start(Kind.TIME, epoch_ms(moment, timezone))


def epoch_ms(moment: datetime, timezone: str) -> int:
    """A time without a zone is local to `timezone`."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(timezone))
    return int(moment.timestamp() * 1000)


def resolve(
    settings: Settings, client: AdminClient, partitions: list[Partition], start: Start
) -> dict[Partition, tuple[int, int]]:
    """For each partition the offset to begin at and the end at this moment."""
    low = first_offsets(settings, client, partitions)
    high = end_offsets(settings, client, partitions)
    if start.kind is Kind.TIME:
        begin = offsets_at(settings, client, partitions, max(0, start.value))
        return {each: (begin[each] if begin[each] >= 0 else high[each], high[each]) for each in partitions}
    return {each: (_within(start, low[each], high[each]), high[each]) for each in partitions}


def _within(start: Start, low: int, high: int) -> int:
    if start.kind is Kind.EARLIEST:
        return low
    if start.kind is Kind.LATEST:
        return high
    wanted = start.value if start.value >= 0 else high + start.value
    return max(low, min(wanted, high))
