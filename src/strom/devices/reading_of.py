"""From what a message says to a reading: the part that all dialects share.

A dialect finds out what a message says, as texts; here the rules of `domain` judge it: what is a number, who the meter
is, what time it was. It knows no format.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import ERROR_VALUES
from strom.domain.reading import Rejected, plain_number, time_text

_ERRORS = frozenset(Decimal(value) for value in ERROR_VALUES)
_TARIFFS = range(1, 5)
_NOTHING = Decimal(0)
_KEY_LENGTH = 64


class Measured(NamedTuple):
    """A value as it was sent, and what it is multiplied with to be in the unit of its field."""

    text: str
    factor: int = 1


@dataclass(frozen=True)
class Said:
    """What a message says. What it does not deliver is not in here."""

    numbers: Mapping[str, Measured]  # by the reading's field
    ids: Sequence[str] = ()  # what may be the meter number, the most likely first
    other: Mapping[str, Measured] = field(default_factory=dict)
    times: Sequence[Decimal | None] = ()  # epoch s; None is one that cannot be read
    name: str | None = None
    level: str | None = None  # who it is by the MQTT topic, if the message does not tell
    net_w: Measured | None = None  # one power for both directions, negative when feeding in
    unreadable: bool = False  # more was there, but nobody can read it


def reading_of(said: Said, *, received_ms: int, source: str) -> dict[str, Any]:
    """The reading; Rejected if nobody can tell whose it is."""
    flags = {rules.BAD_VALUE} if said.unreadable else set()
    numbers = _numbers(said, flags)
    meter_number = _meter_number(said.ids, flags)
    other = _other(said.other, flags)
    meter = _meter(said, meter_number, flags)
    at_ms, clock = _at(said.times, received_ms, flags)
    found: dict[str, Any] = {
        "v": rules.VERSION,
        "meter": meter,
        "at": time_text(at_ms),
        "received": time_text(received_ms),
        "source": source,
        "clock": clock,
        **{name: plain_number(numbers[name]) for name in rules.NUMBER_FIELDS if name in numbers},
    }
    if meter_number is not None:
        found["meter_number"] = meter_number
    if other:
        found["other"] = other
    if flags:
        found["flags"] = [flag for flag in rules.FLAGS if flag in flags]
    return found


def is_plain_key(key: str) -> bool:
    """Whether a value may stand under `other` by the name that a device or its owner gave it."""
    return 0 < len(key) <= _KEY_LENGTH and key.isprintable()


def _numbers(said: Said, flags: set[str]) -> dict[str, Decimal]:
    judged = {name: _number(measured, flags) for name, measured in said.numbers.items()}
    numbers = {name: value for name, value in judged.items() if value is not None}
    if said.net_w is not None and not {"import_w", "export_w"} & judged.keys():
        _both_directions(said.net_w, numbers, flags)
    for direction in ("import", "export"):
        _total_from_tariffs(direction, numbers, judged.keys(), flags)
    return numbers


def _number(measured: Measured, flags: set[str]) -> Decimal | None:
    sent = values.number(measured.text)
    value = sent if measured.factor == 1 else values.number(measured.text, measured.factor)
    if value is None or sent in _ERRORS:
        flags.add(rules.BAD_VALUE)
        return None
    return value


def _both_directions(net_w: Measured, numbers: dict[str, Decimal], flags: set[str]) -> None:
    """A net of 500 W does say that nothing is fed in: the other direction is 0, and not unknown."""
    net = _number(net_w, flags)
    if net is not None:
        numbers["import_w"], numbers["export_w"] = max(net, _NOTHING), max(-net, _NOTHING)


def _total_from_tariffs(
    direction: str, numbers: dict[str, Decimal], delivered: Collection[str], flags: set[str]
) -> None:
    """Without a total the total is the tariffs' sum, unless one of them cannot be read: a sum too low would be a fall."""
    total = f"{direction}_wh"
    tariffs = [name for tariff in _TARIFFS if (name := f"{direction}_t{tariff}_wh") in delivered]
    if total in delivered or not tariffs or not all(name in numbers for name in tariffs):
        return
    summed = values.number(str(sum(numbers[name] for name in tariffs)))
    if summed is not None:
        numbers[total] = summed
        flags.add(rules.TOTAL_FROM_TARIFFS)


def _meter_number(ids: Sequence[str], flags: set[str]) -> str | None:
    found: str | None = None
    for text in ids:
        if values.is_date_or_time(text):
            continue
        if values.is_identifier(text):
            found = found if found is not None else text
        else:
            flags.add(rules.BAD_VALUE)
    return found


def _other(sent: Mapping[str, Measured], flags: set[str]) -> dict[str, Any]:
    other: dict[str, Any] = {}
    for key, (text, factor) in sent.items():
        value = values.number(text, factor) if values.looks_numeric(text) else None
        if value is not None:
            other[key] = plain_number(value)
        elif values.is_plain_text(text):
            other[key] = text
        else:
            flags.add(rules.BAD_VALUE)
    return other


def _meter(said: Said, meter_number: str | None, flags: set[str]) -> str:
    meter = said.name or meter_number
    if meter is not None:
        return meter
    if said.level is None:
        raise Rejected(rules.NO_METER)
    flags.add(rules.UNNAMED)
    return said.level


def _at(times: Sequence[Decimal | None], received_ms: int, flags: set[str]) -> tuple[int, str]:
    """The latest plausible time; 0 is the device's way to say that it has none."""
    plausible = [time for time in times if time is not None and values.plausible_time(time, received_ms)]
    if plausible:
        return int(max(plausible) * 1000), rules.CLOCK_METER
    flags.add(rules.CLOCK_WRONG if any(time is None or time != 0 for time in times) else rules.NO_TIME)
    return received_ms, rules.CLOCK_RECEIVED
