"""How one dead letter is shown: as a line, as plain values, or whole with what Strom would make of it now."""

import json
from collections import Counter
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console

from strom.cli.record_view import safe
from strom.cli.record_view import show as show_record
from strom.devices.registry import dialects_of
from strom.domain.dialects import ADAPTER_JSON
from strom.domain.reading import Rejected, time_text
from strom.settings import Settings
from strom.streams import topics
from strom.streams.chunks import parse_part
from strom.streams.dead_letters import DeadLetter
from strom.streams.record import Record


def plain(letter: DeadLetter, redriven: bool) -> dict[str, Any]:
    return {
        "place": letter.place,
        "arrived": time_text(letter.arrived_ms),
        "reason": letter.reason,
        "detail": letter.detail,
        "meter": letter.meter,
        "origin": letter.record.header(topics.HEADER_ORIGIN),
        "bytes": len(letter.record.value or b""),
        "redriven": redriven,
    }


def line(letter: DeadLetter, redriven: bool, zone: str) -> str:
    arrived = datetime.fromtimestamp(letter.arrived_ms / 1000, ZoneInfo(zone))
    size = len(letter.record.value or b"")
    name = safe(letter.meter)
    shown = name if len(name) <= 20 else f"{name[:19]}…"
    return (
        f"{letter.place:<12}{arrived:%Y-%m-%d %H:%M:%S}  {safe(letter.reason):<20}{shown:<22}{size:>9,}"
        f"  {'yes' if redriven else ''}"
    ).rstrip()


def summary(counts: Counter[str]) -> str:
    """How many of each reason; whoever wrote the record chose its reason."""
    told = ", ".join(f"{count:,} {safe(reason)}" for reason, count in counts.most_common())
    return f"{counts.total():,} dead letters" + (f": {told}" if told else "")


def decoded(letter: DeadLetter, settings: Settings) -> dict[str, Any]:
    """What it would be now, in the dialect that it came in; one that nobody knows is read as an adapter's."""
    record = letter.record
    if record.header(topics.HEADER_PART) is not None:
        return {"reason": letter.reason, "detail": _of_a_part(record)}
    known = dialects_of(settings)
    speaking = known.get(record.header(topics.HEADER_DIALECT) or ADAPTER_JSON, known[ADAPTER_JSON])
    try:
        return speaking.decode(
            record.value or b"",
            received_ms=letter.arrived_ms,
            source=record.header(topics.HEADER_SOURCE) or topics.SOURCE_KAFKA,
            topic=record.header(topics.HEADER_TOPIC),
        )
    except Rejected as rejected:
        return {"reason": rejected.reason, "detail": rejected.detail}


def _of_a_part(record: Record) -> str:
    part = parse_part(record.header(topics.HEADER_PART))
    if part is None:
        return f"the header {topics.HEADER_PART} is none of a part of a large message"
    return f"part {part.index + 1} of {part.count} of a large message; redriven with the others it is put together and read"


def show(console: Console, letter: DeadLetter, settings: Settings) -> None:
    show_record(console, letter.record, settings.page.timezone)
    console.print(f"now: {_now(letter, settings)}", markup=False, soft_wrap=True)


def _now(letter: DeadLetter, settings: Settings) -> str:
    found = decoded(letter, settings)
    if "reason" in found:
        return safe(f"still {found['reason']}: {found['detail']}")
    return f"a reading: {safe(json.dumps(found, ensure_ascii=False))}"
