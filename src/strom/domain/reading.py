"""A reading, schema version 1: its fields in their order, the flags it can carry and the reasons for refusing one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from strom.domain.obis import MEASURED

VERSION = 1

NUMBER_FIELDS = tuple(register.field for register in MEASURED)
FIELDS = ("v", "meter", "at", "received", "source", "clock", *NUMBER_FIELDS, "meter_number", "other", "flags")

# Flags, in the order in which they stand in a reading.
BAD_VALUE = "bad-value"
CLOCK_WRONG = "clock-wrong"
NO_TIME = "no-time"
TOTAL_FROM_TARIFFS = "total-from-tariffs"
UNNAMED = "unnamed"
FLAGS = (BAD_VALUE, CLOCK_WRONG, NO_TIME, TOTAL_FROM_TARIFFS, UNNAMED)

# Reasons for the dead letter.
NOT_JSON = "not-json"
NOT_AN_OBJECT = "not-an-object"
NO_KNOWN_REGISTER = "no-known-register"
NO_METER = "no-meter"
BAD_TELEGRAM = "bad-telegram"
BAD_CHUNK = "bad-chunk"
REASONS = (NOT_JSON, NOT_AN_OBJECT, NO_KNOWN_REGISTER, NO_METER, BAD_TELEGRAM, BAD_CHUNK)

DETAILS = {
    NOT_JSON: "the payload is not strict JSON in UTF-8",
    NOT_AN_OBJECT: "the payload is JSON, but not an object",
    NO_KNOWN_REGISTER: "the message holds no register that Strom knows",
    NO_METER: "neither a name, nor a meter number, nor an MQTT topic tells which meter this is",
    BAD_TELEGRAM: "the payload is no telegram of its dialect, or is cut off, or its checksum is wrong",
    BAD_CHUNK: "parts of a large message are missing or mixed",
}

CLOCK_METER = "meter"
CLOCK_RECEIVED = "received"

Reading = Mapping[str, Any]  # the JSON object of the `readings` topic


class Rejected(Exception):  # noqa: N818  the declared outcome, not a fault
    """A payload that cannot become a reading; `reason` is one of REASONS."""

    def __init__(self, reason: str) -> None:
        super().__init__(DETAILS[reason])
        self.reason = reason
        self.detail = DETAILS[reason]


def time_text(epoch_ms: int) -> str:
    """UTC with a Z; milliseconds only where there are any."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    millis = epoch_ms % 1000
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{millis:03d}Z" if millis else "Z")


def epoch_ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round(Decimal(str(moment.timestamp())) * 1000)


def plain_number(value: Decimal) -> int | float:
    """A number as JSON shows it: whole numbers without a point."""
    return int(value) if value == value.to_integral_value() else float(value)


def plain_thousandths(value: int) -> int | float:
    """The same of a number that is given in thousandths."""
    return value / 1000 if value % 1000 else value // 1000
