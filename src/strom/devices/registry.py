"""Every dialect that meters speak, by the name that stands in the header `strom-dialect`.

One file a dialect beside this one; each has a `DIALECT` row here and real messages in `tests/payloads/`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from strom.devices import adapter_json


class Decode(Protocol):
    """The reading that a payload says; `domain.reading.Rejected` with its reason if it says none, nothing else ever."""

    def __call__(
        self, payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Dialect:
    name: str
    decode: Decode
    native: bool = (
        False  # whether `pipeline/parse.py` reads it in native columns; else the side query decodes it
    )


DIALECTS: dict[str, Dialect] = {
    each.name: each for each in (Dialect(adapter_json.DIALECT, adapter_json.decode, native=True),)
}
