"""What one message says, in plain Python: runs on the executors for the side query, where little is installed.

So it must not import Spark, Kafka or the registry. The decoders are given: whoever plans the query knows them.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from strom.devices import adapter_json
from strom.domain.reading import NO_KNOWN_REGISTER, Rejected

if TYPE_CHECKING:
    from strom.devices.registry import Decode, Dialect

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Decoded(NamedTuple):
    """A reading, or the reason why it is none."""

    reason: str | None = None
    detail: str | None = None
    meter: str | None = None
    reading: bytes | None = None


def decoders_of(dialects: "Mapping[str, Dialect]") -> "dict[str, Decode]":
    return {name: dialect.decode for name, dialect in dialects.items()}


def decoded(
    decoders: "Mapping[str, Decode]",
    value: bytes | None,
    dialect: str | None,
    received_ms: int,
    source: str,
    topic: str | None,
) -> Decoded:
    """By the dialect that it names; one that nobody knows is read as the adapter's, as the real-time query does."""
    decode = decoders.get(dialect or "", adapter_json.decode)
    try:
        found = decode(bytes(value or b""), received_ms=received_ms, source=source, topic=topic)
        return Decoded(meter=found["meter"], reading=_JSON.encode(found).encode())
    except Rejected as rejected:
        return Decoded(rejected.reason, rejected.detail)
    except (
        Exception
    ) as error:  # a fault of the decoder: the message waits for its mending, and the others go on
        told = f"{type(error).__name__}: {error}"[:200]
        return Decoded(NO_KNOWN_REGISTER, f"the decoder of {dialect} failed ({told}); tell its makers")
