"""A meter by SunSpec: the common model and meter model 203, both ways, in pure functions.

The simulated adapter writes its registers by these tables and the Modbus poller reads them by the same; neither
knows an offset, and nothing here knows a socket. The map of the adapter is

    BASE        SunS, the common model (1), model 203, the end (0xFFFF, 0)
"""

from strom.devices.sunspec.common import COMMON, Identity, decode_common, encode_common
from strom.devices.sunspec.meter import METER, Values, decode_meter, encode_meter
from strom.devices.sunspec.points import HEADER, SunSpecError
from strom.devices.sunspec.spoken import as_adapter_json

__all__ = [
    "BASE",
    "BASES",
    "COMMON",
    "END",
    "HEADER",
    "MARKER",
    "METER",
    "Identity",
    "SunSpecError",
    "Values",
    "as_adapter_json",
    "decode_common",
    "decode_meter",
    "encode_common",
    "encode_map",
    "encode_meter",
]

BASE = 40_000  # where the adapter's map begins
BASES = (BASE, 0, 50_000)  # where the maps of other devices may begin
MARKER = (0x5375, 0x6E53)  # "SunS"
END = 0xFFFF  # the ID after the last model; its length is 0


def encode_map(identity: Identity, values: Values) -> list[int]:
    """The adapter's whole map, to be served from BASE on."""
    return [*MARKER, *encode_common(identity), *encode_meter(values), END, 0]
