"""What was read by SunSpec as the adapter's own JSON, so that it goes the way of every other message."""

import json

from strom.devices.sunspec.meter import Values
from strom.domain.obis import MEASURED, METER_NUMBERS
from strom.domain.reading import plain_number


def as_adapter_json(values: Values, *, name: str, meter_number: str | None = None) -> bytes:
    """One message with these registers under their codes; without times, for model 203 has no clock."""
    message: dict[str, object] = {"api_version": "v1", "name": name}
    for register in MEASURED:
        if register.field in values:
            message[register.spellings[0]] = {"value": plain_number(values[register.field])}
    if meter_number is not None:
        message[METER_NUMBERS[0].spellings[0]] = {"value": meter_number}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
