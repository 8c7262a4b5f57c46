"""`strom decode`: what Strom makes of a payload, without any server."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(name="decode")(decode)


def decode(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Payloads, one a file; - is standard input.")
    ],
    topic: Annotated[
        str | None, typer.Option(help="The MQTT topic that it came on, for messages without a name.")
    ] = "sma",
    source: Annotated[
        str, typer.Option(help="The door that it came in by: mqtt, rest, modbus or http.")
    ] = "mqtt",
    received: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it arrived, ISO 8601 [default: now].")
    ] = None,
) -> None:
    """Print what each payload becomes: one JSON object a line, the reading, or its reason and detail (exit code 1).

    Example: strom decode message.json
    """
    import json

    from strom.devices import adapter_json
    from strom.domain.reading import Rejected

    received_ms = _moment(received)
    refused = False
    for file in files:
        try:
            found = adapter_json.decode(_content(file), received_ms=received_ms, source=source, topic=topic)
        except Rejected as rejected:
            found = {"reason": rejected.reason, "detail": rejected.detail}
            refused = True
        print(json.dumps(found, ensure_ascii=False))
    if refused:
        raise typer.Exit(1)


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
