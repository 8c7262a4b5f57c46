"""What `strom adapter` prints: how to reach its boxes, how they are doing, and what they did."""

import json
import re
from collections.abc import Sequence

from strom.cli.progress import ProgressLine
from strom.devices.adapter import Publisher
from strom.devices.box.box import Box
from strom.devices.box.plan import Plan
from strom.devices.box.rest import MEASUREMENT
from strom.settings import Settings

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Ticker:
    """One line on how the boxes are doing."""

    def __init__(self, boxes: Sequence[Box], publisher: Publisher | None) -> None:
        self._boxes = boxes
        self._publisher = publisher
        self._line = ProgressLine()

    def __call__(self, _: object = None) -> None:
        self._line(lambda _: self._text())

    def clear(self) -> None:
        self._line.clear()

    def _text(self) -> str:
        taken = sum(box.connections.open for box in self._boxes)
        places = sum(box.connections.most for box in self._boxes)
        return f"{_done(self._boxes, self._publisher)}; {taken:,} of {places:,} connections taken"


def introduce(boxes: Sequence[Box], settings: Settings, plan: Plan) -> None:
    """Each box with its addresses, then what to put into strom.toml to ask them all."""
    for box in boxes:
        _introduce(box, settings)
    tables = [table for box in boxes for table in _tables(box)]
    if tables:
        print("To have them asked by `strom poll`, put this into strom.toml:\n")
        print("\n\n".join(tables), flush=True)


def _introduce(box: Box, settings: Settings) -> None:
    adapter, host = box.adapter, _host(box)
    print(
        f"{adapter.key} ({adapter.client_id}): {adapter.meter.premises.kind}, {adapter.dialect.name}, ",
        end="",
    )
    print(f"a push every {box.pushes.rhythm.step_ms / 1000:g} s")
    if box.offer.mqtt:
        broker, port = settings.mqtt_address
        print(f"  MQTT         {broker}:{port}, topic {adapter.topic(settings.mqtt.topic)}")
    if "rest" in box.ports:
        print(f"  REST         https://{host}:{box.ports['rest']}{MEASUREMENT[1]}")
        print(f"  token        {box.token}")
        print(f"  certificate  sha256 {box.certificate.fingerprint}")
    if "modbus" in box.ports:
        print(f"  Modbus       {host}:{box.ports['modbus']}")
    print()


def _tables(box: Box) -> list[str]:
    """By REST where it is offered; by Modbus then as a comment, for who asks both ways hears everything twice."""
    key = box.adapter.key
    name = key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    # Asked twice while the meter pushes once, none of its pushes is missed.
    interval = f'interval = "{box.pushes.rhythm.step_ms / 2000:g}s"'
    tables = []
    if "rest" in box.ports:
        address = f'address = "{_host(box)}:{box.ports["rest"]}"'
        secrets = f'token = {json.dumps(box.token)}\nfingerprint = "{box.certificate.fingerprint}"'
        tables.append(f'[adapters.{name}]\nby = "rest"\n{address}\n{secrets}\n{interval}')
    if "modbus" in box.ports:
        address = f'address = "{_host(box)}:{box.ports["modbus"]}"'
        table = f'[adapters.{name}]\nby = "modbus"\n{address}\n{interval}'
        tables.append("\n".join(f"# {line}" for line in table.splitlines()) if tables else table)
    return tables


def summarise(boxes: Sequence[Box], publisher: Publisher | None) -> None:
    print(f"{_done(boxes, publisher)}.")


def _done(boxes: Sequence[Box], publisher: Publisher | None) -> str:
    parts = []
    if publisher is not None:
        progress = publisher.progress
        parts.append(f"{progress.published:,} published")
        parts += [f"{progress.open:,} waiting for the broker"] if progress.open else []
        parts += [f"{progress.forgotten:,} forgotten"] if progress.forgotten else []
    for name in ("rest", "modbus"):
        if any(name in box.ports for box in boxes):
            answers = sum(getattr(box, name).answers for box in boxes)
            parts.append(f"asked {answers:,}× by {'REST' if name == 'rest' else 'Modbus'}")
    refused = sum(box.connections.refused for box in boxes)
    parts += [f"{refused:,} connections refused"] if refused else []
    return ", ".join(parts)


def _host(box: Box) -> str:
    host = _ANYWHERE.get(box.offer.host, box.offer.host)
    return f"[{host}]" if ":" in host else host
