"""How one Kafka record is shown: for eyes in a terminal, or as one JSON object a line."""

import base64
import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.json import JSON
from rich.text import Text

from strom.streams.record import Record

SHOWN_BYTES = 4096  # of a value in a terminal; --json gives all


def as_json(record: Record) -> str:
    """All of the record on one line; bytes that are not text stand as {"base64": …}."""
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "key": _plain(record.key),
        "time": None if record.at_ms is None else _moment(record.at_ms, "UTC").replace("+00:00", "Z"),
        "headers": {name: _plain(value) for name, value in record.headers},
        "value": _plain(record.value),
    }
    if record.parts > 1:
        shown["parts"] = record.parts
    return json.dumps(shown, ensure_ascii=False)


def show(console: Console, record: Record, timezone: str) -> None:
    """A head line, the headers, the value; nothing that came from outside can steer the terminal."""
    head = Text(f"{record.topic}/{record.partition}/{record.offset}", style="bold cyan")
    head.append(f"  {_readable(record.key)}", style="bold green")
    if record.at_ms is not None:
        head.append(f"  {_moment(record.at_ms, timezone)}", style="dim")
    if record.parts > 1:
        head.append(f"  {len(record.value or b''):,} bytes in {record.parts} parts", style="dim")
    console.print(head, soft_wrap=True)
    if record.headers:
        pairs = "  ".join(f"{safe(name)}={_readable(value)}" for name, value in record.headers)
        console.print(Text(pairs, style="dim"), soft_wrap=True)
    console.print(_value(record.value), soft_wrap=True)


def _value(value: bytes | None) -> Text | JSON:
    if value is not None and len(value) <= SHOWN_BYTES:
        try:
            shown = JSON.from_data(json.loads(value), ensure_ascii=False)
        except (ValueError, RecursionError):
            return Text(_readable(value))
        if all(char.isprintable() or char == "\n" for char in shown.text.plain):
            return shown
    return Text(_readable(value))


def _readable(value: bytes | None) -> str:
    if value is None:
        return "∅"
    cut, rest = value[:SHOWN_BYTES], len(value) - SHOWN_BYTES
    try:
        text = safe(cut.decode())
    except UnicodeDecodeError as error:
        # A character cut in half at the end is no reason to call the text binary.
        halved = rest > 0 and error.start >= len(cut) - 3
        text = safe(cut[: error.start].decode()) if halved else f"0x{cut[:256].hex()}"
        rest = len(value) - (len(cut) if halved else min(len(cut), 256))
    return f"{text}… {rest} bytes more" if rest > 0 else text


def safe(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _plain(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}


def _moment(at_ms: int, timezone: str) -> str:
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(timezone))
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms after 1970"  # no year that a calendar has
    return moment.isoformat(timespec="milliseconds")
