"""One adapter asked by Modbus: where its SunSpec map is, and its meter model as a message of the adapter's own dialect.

It knows neither frames nor what a register means; those are in `modbus_line.py` and `devices/sunspec`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strom.devices.sunspec import (
    BASES,
    COMMON,
    END,
    HEADER,
    MARKER,
    METER,
    Identity,
    SunSpecError,
    as_adapter_json,
    decode_common,
    decode_meter,
)
from strom.ingest.poll.asking import within
from strom.ingest.poll.modbus_line import BUSY, MAX_REGISTERS, ModbusError, ModbusLine
from strom.ingest.poll.trouble import Kind, Trouble
from strom.settings import AdapterSettings

# One phase, split phase, three phases in star and in delta: the same points at the same places.
METERS = (201, 202, METER.number, 204)
MOST_MODELS = 60  # of a map that does not end
_LAST = 0xFFFF  # the highest register there is


@dataclass(frozen=True)
class _Place:
    """Where the models are."""

    meter: int
    common: tuple[int, int] | None  # with its length


class ModbusAdapter:
    """Looks for the map once and remembers it; then a reading is one request."""

    expires = 0  # no TLS, no certificate

    def __init__(self, entry: str, adapter: AdapterSettings) -> None:
        self._adapter = adapter
        self._line = ModbusLine(adapter)
        self._where = f"[adapters.{entry}]"
        self._place: _Place | None = None
        self._identity: Identity | None = None

    async def ask(self) -> bytes:
        place = self._place = self._place or await self._find()
        identity = self._identity = self._identity or await self._read_identity(place)
        try:
            block = await self._read(place.meter, METER.size)
            if block[0] not in METERS:
                raise Trouble(Kind.MODBUS, "its SunSpec map has changed; looking for it anew")
        except Trouble as trouble:
            if trouble.kind is Kind.MODBUS:
                self._place = self._identity = None
            raise
        values = decode_meter([METER.number, *block[1:]])
        if not values:
            raise Trouble(Kind.MODBUS, "gives none of its values; is the meter connected to it?")
        name = self._adapter.name or identity.name
        return as_adapter_json(values, name=name, meter_number=identity.meter_number)

    async def ask_status(self) -> dict[str, Any] | None:
        """The common model as a status; a name that the owner has changed is noticed by it, too."""
        if self._place is None:
            return None
        identity = self._identity = await self._read_identity(self._place)
        return {"fw_version": identity.version, "meter": {"manufacturer": identity.manufacturer}}

    async def close(self) -> None:
        self._line.close()
        await self._line.closed()

    async def _read(self, address: int, count: int) -> Sequence[int]:
        return await within(self._adapter.timeout_seconds, self._line.read(address, count))

    async def _find(self) -> _Place:
        bases = BASES if self._adapter.base is None else (self._adapter.base,)
        for base in bases:
            try:
                marker = await self._read(base, len(MARKER))
            except ModbusError as error:
                if error.code in BUSY:
                    raise
                continue  # it has no registers there
            if tuple(marker) == MARKER:
                return await self._walk(base + len(MARKER))
        tried = ", ".join(map(str, bases))
        raise Trouble(
            Kind.MODBUS, f"has no SunSpec map at {tried}; set where it begins as base under {self._where}"
        )

    async def _walk(self, address: int) -> _Place:
        """From model to model until the meter's."""
        common: tuple[int, int] | None = None
        seen: list[int] = []
        while len(seen) < MOST_MODELS and address < _LAST:
            model, length = await self._read(address, HEADER)
            if model == END:
                break
            if model in METERS and length >= METER.size - HEADER:
                return _Place(address, common)
            if model == COMMON.number:
                common = address, length
            seen.append(model)
            address += HEADER + length
        models = ", ".join(map(str, seen)) or "none"
        raise Trouble(
            Kind.MODBUS, f"its SunSpec map has no meter model (201 to 204), only these models: {models}"
        )

    async def _read_identity(self, place: _Place) -> Identity:
        nobody = Identity(manufacturer="", product="")
        if place.common is None:
            return nobody
        address, length = place.common
        try:
            return decode_common(await self._read(address, min(HEADER + length, MAX_REGISTERS)))
        except SunSpecError:
            return nobody
