"""Every dialect that meters speak, by the name that stands in the header `strom-dialect`.

One file a dialect beside this one; each has a row here and real messages with their origin in `tests/payloads/`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from strom.devices import adapter_json, dsmr_p1, shelly_3em, tasmota_sml
from strom.domain import values
from strom.settings import Settings


class Decode(Protocol):
    """The reading that a payload says; `domain.reading.Rejected` with its reason if it says none, nothing else ever."""

    def __call__(
        self, payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Dialect:
    name: str
    decode: Decode
    meaning: str
    native: bool = (
        False  # whether `pipeline/parse.py` reads it in native columns; else the side query decodes it
    )
    needs: str | None = None  # a package that only an extra of the installation brings
    # Who sends on a topic, without a look at the payload: the record's key, so that a meter stays in order.
    key_of: Callable[[str], str] = values.last_level


DIALECTS: dict[str, Dialect] = {
    each.name: each
    for each in (
        Dialect(
            adapter_json.DIALECT,
            adapter_json.decode,
            "Smart Meter Adapter of Österreichs Energie",
            native=True,
        ),
        Dialect(
            dsmr_p1.DIALECT,
            dsmr_p1.decode,
            "DSMR P1 telegrams",
            needs="dsmr_parser",
            key_of=dsmr_p1.key_of,
        ),
        Dialect(
            tasmota_sml.DIALECT,
            tasmota_sml.decode,
            "Tasmota's smart meter interface",
            key_of=tasmota_sml.key_of,
        ),
        Dialect(shelly_3em.DIALECT, shelly_3em.decode, "Shelly 3EM and Pro 3EM", key_of=shelly_3em.key_of),
    )
}


def dialects_of(settings: Settings) -> dict[str, Dialect]:
    """The same, with what these settings tell of them: own names of values, the zone of clocks that tell local time."""
    tasmota = DIALECTS[tasmota_sml.DIALECT]
    own = partial(tasmota_sml.decode, names=settings.tasmota_names, zone=settings.page.timezone)
    return DIALECTS | {tasmota.name: replace(tasmota, decode=own)}
