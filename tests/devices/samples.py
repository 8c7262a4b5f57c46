"""The sample messages of each dialect, and what must become of them."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from strom.devices.registry import DIALECTS
from strom.domain.dialects import ADAPTER_JSON, NAMES
from strom.domain.reading import Rejected, epoch_ms

PAYLOADS = Path(__file__).parent.parent / "payloads"
OTHERS = [name for name in NAMES if name != ADAPTER_JSON]
RECEIVED_MS = 1_763_240_000_000  # 2025-11-15T20:53:20Z

READING = Draft202012Validator(
    json.loads((files("strom.streams") / "schemas" / "readings.json").read_text(encoding="utf-8"))
)


class Sample(NamedTuple):
    dialect: str
    name: str
    payload: bytes
    topic: str
    received_ms: int
    expected: dict[str, Any]  # the reading, or its reason

    def __str__(self) -> str:
        return f"{self.dialect}/{self.name}"


def samples() -> list[Sample]:
    """Of the dialects beside the adapter's own, which has its tests apart."""
    found: list[Sample] = []
    for dialect in OTHERS:
        folder = PAYLOADS / dialect
        told: dict[str, dict[str, Any]] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        for name, each in told.items():
            expected = each["reading"] if "reading" in each else {"reason": each["reason"]}
            payload = (folder / name).read_bytes()
            found.append(Sample(dialect, name, payload, each["topic"], epoch_ms(each["received"]), expected))
    return found


def payload_of(dialect: str, name: str) -> bytes:
    return (PAYLOADS / dialect / name).read_bytes()


def outcome(
    dialect: str, payload: bytes, topic: str | None = None, received_ms: int = RECEIVED_MS
) -> dict[str, Any]:
    """The reading, which must fit its schema, or the reason."""
    try:
        found = DIALECTS[dialect].decode(payload, received_ms=received_ms, topic=topic)
    except Rejected as rejected:
        return {"reason": rejected.reason}
    READING.validate(json.loads(json.dumps(found, ensure_ascii=False).encode()))
    return found
