"""`strom decode`: what Strom makes of a payload, without any server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from strom.devices.registry import Dialect


def register(app: typer.Typer) -> None:
    app.command(name="decode")(decode)


def decode(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE…", help="Payloads, one a file; - is standard input."),
    ] = None,
    topic: Annotated[
        str,
        typer.Option(
            help="The MQTT topic that it came on: it tells the dialect, and names what has no name."
        ),
    ] = "sma",
    dialect: Annotated[
        str | None,
        typer.Option(help="What it speaks [default: what the settings say of the topic, else adapter_json]."),
    ] = None,
    source: Annotated[
        str, typer.Option(help="The door that it came in by: mqtt, rest, modbus or http.")
    ] = "mqtt",
    received: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it arrived, ISO 8601 [default: now].")
    ] = None,
    list_dialects: Annotated[
        bool, typer.Option("--list-dialects", help="Only tell which dialects there are.")
    ] = False,
) -> None:
    """Print what each payload becomes: one JSON object a line, the reading, or its reason and detail (exit code 1).

    Example: strom decode --dialect dsmr_p1 telegram.txt
    """
    import json

    from strom.devices.registry import DIALECTS
    from strom.domain.reading import Rejected
    from strom.errors import StromError

    if list_dialects:
        for each in DIALECTS.values():
            print(f"{each.name:<14}{each.meaning}")
        return
    if not files:
        raise StromError("nothing to decode; name a file that holds one payload, or - for standard input.")
    speaking = _dialect(dialect, topic)
    received_ms = _moment(received)
    refused = False
    for file in files:
        try:
            found = speaking.decode(_content(file), received_ms=received_ms, source=source, topic=topic)
        except Rejected as rejected:
            found = {"reason": rejected.reason, "detail": rejected.detail}
            refused = True
        print(json.dumps(found, ensure_ascii=False))
    if refused:
        raise typer.Exit(1)


def _dialect(name: str | None, topic: str) -> "Dialect":
    from strom.devices.registry import dialects_of
    from strom.errors import StromError
    from strom.ingest.dialect_rules import DialectRules
    from strom.settings import load_settings

    settings = load_settings()
    known = dialects_of(settings)
    if name is not None and name not in known:
        raise StromError(f"{name!r} is no dialect; there are {', '.join(known)}.")
    return known[name or DialectRules(settings).dialect(topic)]


def _content(file: Path) -> bytes:
    import sys

    from strom.errors import StromError

    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise StromError(
            f"{file} cannot be read: {error.strerror}; name a file that holds one payload."
        ) from None


def _moment(text: str | None) -> int:
    import time

    from strom.domain.reading import epoch_ms
    from strom.errors import StromError

    if text is None:
        return time.time_ns() // 1_000_000
    try:
        return epoch_ms(text)
    except ValueError:
        raise StromError(f"{text!r} is not a time; write it as 2026-11-15T20:15:00Z.") from None
