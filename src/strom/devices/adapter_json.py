"""The JSON of the Österreichs Energie Smart Meter Adapter: one object per push, registers under their OBIS codes.

Decodes one message in plain Python. `pipeline/parse.py` does the same in Spark's native columns; a parity test holds
the two together.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import ERROR_VALUES, MEASURED, METER_NUMBERS, SPELLINGS, Register, looks_like_a_code
from strom.domain.reading import Rejected, plain_number, time_text

DIALECT = "adapter_json"

# Bounds of the JSON reader that Spark uses; what is beyond them is refused by both.
MAX_NUMBER_LENGTH = 1000
MAX_KEY_LENGTH = 50_000

_ERRORS = frozenset(Decimal(value) for value in ERROR_VALUES)
_TARIFFS = range(1, 5)


class Entry(NamedTuple):
    """One register of a message, as texts."""

    value: str | None
    time: str | None


def decode(
    payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
) -> dict[str, Any]:
    """The reading that a payload says; Rejected with its reason if it says none."""
    message = _strict_object(payload)
    if not any(key in SPELLINGS for key in message):
        raise Rejected(rules.NO_KNOWN_REGISTER)
    flags = {rules.BAD_VALUE} if _has_unreadable_register(message) else set()
    numbers = _numbers(message, flags)
    meter_number = _meter_number(message, flags)
    other = _other(message, flags)
    meter = _meter(message, meter_number, topic, flags)
    at_ms, clock = _at(message, received_ms, flags)
    found: dict[str, Any] = {
        "v": rules.VERSION,
        "meter": meter,
        "at": time_text(at_ms),
        "received": time_text(received_ms),
        "source": source,
        "clock": clock,
        **{field: plain_number(numbers[field]) for field in rules.NUMBER_FIELDS if field in numbers},
    }
    if meter_number is not None:
        found["meter_number"] = meter_number
    if other:
        found["other"] = other
    if flags:
        found["flags"] = [flag for flag in rules.FLAGS if flag in flags]
    return found


def _strict_object(payload: bytes) -> dict[str, Any]:
    try:
        message = json.loads(
            payload.decode("utf-8"),
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_float,
            object_pairs_hook=_short_keys if len(payload) > MAX_KEY_LENGTH else None,
        )
    except (ValueError, RecursionError):
        raise Rejected(rules.NOT_JSON) from None
    if not isinstance(message, dict):
        raise Rejected(rules.NOT_AN_OBJECT)
    return message


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError("a number is too long")
    return int(text)


def _float(text: str) -> float:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError("a number is too long")
    return float(text)


def _short_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any(len(key) > MAX_KEY_LENGTH for key, _ in pairs):
        raise ValueError("a key is too long")
    return dict(pairs)


def _entry(content: Any) -> Entry | None:
    if not isinstance(content, dict):
        return None
    return Entry(values.scalar_text(content.get("value")), values.scalar_text(content.get("time")))


def _has_unreadable_register(message: dict[str, Any]) -> bool:
    """Whether a register with a field of its own holds something else than an object."""
    spellings = (spelling for register in (*MEASURED, *METER_NUMBERS) for spelling in register.spellings)
    found = (message.get(spelling) for spelling in spellings)
    return any(content is not None and _entry(content) is None for content in found)


def _find(message: dict[str, Any], register: Register) -> Entry | None:
    """The register's entry under the first spelling that holds an object."""
    entries = (_entry(message.get(spelling)) for spelling in register.spellings)
    return next((entry for entry in entries if entry is not None), None)


def _numbers(message: dict[str, Any], flags: set[str]) -> dict[str, Decimal]:
    numbers: dict[str, Decimal] = {}
    delivered: set[str] = set()
    for register in MEASURED:
        entry = _find(message, register)
        if entry is None or entry.value is None:
            continue
        delivered.add(register.field)
        value = values.number(entry.value)
        if value is None or value in _ERRORS:
            flags.add(rules.BAD_VALUE)
        else:
            numbers[register.field] = value
    for direction in ("import", "export"):
        _total_from_tariffs(direction, numbers, delivered, flags)
    return numbers


def _total_from_tariffs(
    direction: str, numbers: dict[str, Decimal], delivered: set[str], flags: set[str]
) -> None:
    """Without a total the total is the tariffs' sum, unless one of them cannot be read: a sum too low would be a fall."""
    total = f"{direction}_wh"
    tariffs = [field for tariff in _TARIFFS if (field := f"{direction}_t{tariff}_wh") in delivered]
    if total in delivered or not tariffs or not all(field in numbers for field in tariffs):
        return
    summed = values.number(str(sum(numbers[field] for field in tariffs)))
    if summed is not None:
        numbers[total] = summed
        flags.add(rules.TOTAL_FROM_TARIFFS)


def _meter_number(message: dict[str, Any], flags: set[str]) -> str | None:
    found: str | None = None
    for register in METER_NUMBERS:
        entry = _find(message, register)
        if entry is None or entry.value is None:
            continue
        if values.is_identifier(entry.value) and not values.is_date_or_time(entry.value):
            found = found if found is not None else entry.value
        elif not values.is_date_or_time(entry.value):
            flags.add(rules.BAD_VALUE)
    return found


def _other_entries(message: dict[str, Any]) -> Iterator[tuple[str, Entry]]:
    """The registers that have no field of their own: known texts and codes that Strom does not know."""
    for key, content in message.items():
        register = SPELLINGS.get(key)
        own_field = register is not None and register.has_field
        entry = None if own_field or not looks_like_a_code(key) else _entry(content)
        if entry is not None:
            yield key, entry


def _other(message: dict[str, Any], flags: set[str]) -> dict[str, Any]:
    other: dict[str, Any] = {}
    for key, entry in _other_entries(message):
        if entry.value is None:
            continue
        value = values.number(entry.value) if values.looks_numeric(entry.value) else None
        if value is not None:
            other[key] = plain_number(value)
        elif values.is_plain_text(entry.value):
            other[key] = entry.value
        else:
            flags.add(rules.BAD_VALUE)
    return other


def _meter(message: dict[str, Any], meter_number: str | None, topic: str | None, flags: set[str]) -> str:
    meter = values.name(values.scalar_text(message.get("name"))) or meter_number
    if meter is not None:
        return meter
    level = values.topic_name(topic)
    if level is None:
        raise Rejected(rules.NO_METER)
    flags.add(rules.UNNAMED)
    return level


def _at(message: dict[str, Any], received_ms: int, flags: set[str]) -> tuple[int, str]:
    """The latest plausible time among the registers; 0 is the device's way to say that it has none."""
    entries = [_find(message, register) for register in (*MEASURED, *METER_NUMBERS)]
    texts = [entry.time for entry in entries if entry is not None and entry.time is not None]
    texts += [entry.time for _, entry in _other_entries(message) if entry.time is not None]
    times = [values.number(text) for text in texts]
    plausible = [time for time in times if time is not None and values.plausible_time(time, received_ms)]
    if plausible:
        return int(max(plausible) * 1000), rules.CLOCK_METER
    flags.add(rules.CLOCK_WRONG if any(time is None or time != 0 for time in times) else rules.NO_TIME)
    return received_ms, rules.CLOCK_RECEIVED
