"""The JSON of the Österreichs Energie Smart Meter Adapter: one object per push, registers under their OBIS codes.

Decodes one message in plain Python. `pipeline/parse.py` does the same in Spark's native columns; a parity test holds
the two together.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from strom.devices.reading_of import Measured, Said, reading_of
from strom.devices.strict_json import strict_object
from strom.domain import dialects, values
from strom.domain import reading as rules
from strom.domain.obis import MEASURED, METER_NUMBERS, SPELLINGS, Register, looks_like_a_code
from strom.domain.reading import Rejected

DIALECT = dialects.ADAPTER_JSON


class Entry(NamedTuple):
    """One register of a message, as texts."""

    value: str | None
    time: str | None


def decode(
    payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
) -> dict[str, Any]:
    """The reading that a payload says; Rejected with its reason if it says none."""
    message = strict_object(payload)
    if not any(key in SPELLINGS for key in message):
        raise Rejected(rules.NO_KNOWN_REGISTER)
    measured = list(_entries(message, MEASURED))
    ids = list(_entries(message, METER_NUMBERS))
    others = list(_other_entries(message))
    times = [entry.time for _, entry in (*measured, *ids, *others) if entry.time is not None]
    said = Said(
        numbers={
            register.field: Measured(entry.value) for register, entry in measured if entry.value is not None
        },
        ids=[entry.value for _, entry in ids if entry.value is not None],
        other={key: Measured(entry.value) for key, entry in others if entry.value is not None},
        times=[values.number(time) for time in times],
        name=values.name(values.scalar_text(message.get("name"))),
        level=values.topic_name(topic),
        unreadable=_has_unreadable_register(message),
    )
    return reading_of(said, received_ms=received_ms, source=source)


def _entry(content: Any) -> Entry | None:
    if not isinstance(content, dict):
        return None
    return Entry(values.scalar_text(content.get("value")), values.scalar_text(content.get("time")))


def _has_unreadable_register(message: dict[str, Any]) -> bool:
    """Whether a register with a field of its own holds something else than an object."""
    spellings = (spelling for register in (*MEASURED, *METER_NUMBERS) for spelling in register.spellings)
    found = (message.get(spelling) for spelling in spellings)
    return any(content is not None and _entry(content) is None for content in found)


def _entries(message: dict[str, Any], registers: tuple[Register, ...]) -> Iterator[tuple[Register, Entry]]:
    """Of these registers those that are there, each under the first spelling that holds an object."""
    for register in registers:
        entries = (_entry(message.get(spelling)) for spelling in register.spellings)
        found = next((entry for entry in entries if entry is not None), None)
        if found is not None:
            yield register, found


def _other_entries(message: dict[str, Any]) -> Iterator[tuple[str, Entry]]:
    """The registers that have no field of their own: known texts and codes that Strom does not know."""
    for key, content in message.items():
        register = SPELLINGS.get(key)
        own_field = register is not None and register.has_field
        entry = None if own_field or not looks_like_a_code(key) else _entry(content)
        if entry is not None:
            yield key, entry
