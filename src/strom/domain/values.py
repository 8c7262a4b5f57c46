"""How a value of a message is read: what is a number, an id, a name, a time. One rule each, so that Spark and Python agree.

A message's scalars are judged by their text, because a value may come as a number or as a string ("0012345") and both
must mean the same.
"""

import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

# Numbers are kept to three decimals and below 10^15: decimal(18,3), which holds a milliwatt-hour and a century of megawatts.
DIGITS = 18
SCALE = 3
_QUANTUM = Decimal(1).scaleb(-SCALE)
_BOUND = Decimal(10) ** (DIGITS - SCALE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?")  # digits of any script, as Java reads them
# Java's trim: what stands around a number or a name does not matter.
BLANKS = "".join(map(chr, range(0x21)))

# Patterns for the whole text, in a form that Python and Java read alike.
NUMBER_PATTERN = r"[\x00-\x20]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?[\x00-\x20]*"
# An id is short and plain. What reads as a decimal fraction is a measurement, what reads as a date or time is a clock.
ID_PATTERN = r"[0-9A-Za-z][0-9A-Za-z ._/-]{0,62}"
FRACTION_PATTERN = r"[0-9]+\.[0-9]+(E-?[0-9]+)?"
DATE_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[^:]*:.*"
# A fraction or power of ten that `number` refused is out of range (a reader of JSON may have made it "Infinity");
# digits alone may be a long id.
INEXACT_PATTERN = (
    r"[\x00-\x20]*[+-]?(([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?|Infinity)[\x00-\x20]*"
)

NAME_LENGTH = 200
NUL = "\x00"  # no database takes it
# A text that begins so is a JSON structure (or Java's quoted "Infinity"), not something a person typed.
STRUCTURE_STARTS = ("{", "[", '"')

EARLIEST_SECONDS = 1_577_836_800  # 2020-01-01: clocks before that were never set
LATEST_MS = 4_102_444_800_000  # 2100: an arrival after that was not told by a door of ours
CLOCKS_APART_MS = (
    366 * 86_400_000
)  # how far an arrival may be ahead of Kafka's time; more is no clock that is wrong
AHEAD_SECONDS = 300  # how far a meter's clock may be ahead of the arrival


def scalar_text(value: Any) -> str | None:
    """A JSON value as the text that the rules judge; None stays None ("not delivered")."""
    match value:
        case None:
            return None
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case int():
            return str(value)
        case _:
            return _structure_text(value)


def number(text: str, factor: int = 1) -> Decimal | None:
    """The number that a text says, times a factor and to three decimals; None if it says none or one out of range."""
    stripped = text.strip(BLANKS)
    if _NUMBER.fullmatch(stripped) is None:
        return None
    try:
        value = Decimal(stripped)
        if abs(value) >= _BOUND * 10:
            return None
        rounded = (value * factor if factor != 1 else value).quantize(_QUANTUM, ROUND_HALF_UP)
    except InvalidOperation:
        return None
    return rounded + 0 if abs(rounded) < _BOUND else None


def looks_numeric(text: str) -> bool:
    return re.fullmatch(NUMBER_PATTERN, text) is not None


def is_identifier(text: str) -> bool:
    return re.fullmatch(ID_PATTERN, text) is not None and re.fullmatch(FRACTION_PATTERN, text) is None


def is_date_or_time(text: str) -> bool:
    return re.fullmatch(DATE_PATTERN, text, re.DOTALL) is not None


def name(text: str | None) -> str | None:
    """What the owner typed as the adapter's name, if it is one."""
    if text is None:
        return None
    trimmed = text.strip(BLANKS)
    if not trimmed or len(trimmed) > NAME_LENGTH or trimmed.startswith(STRUCTURE_STARTS) or NUL in trimmed:
        return None
    return trimmed


def last_level(topic: str) -> str:
    return topic.rsplit("/", 1)[-1] or topic


def topic_name(topic: str | None) -> str | None:
    """The meter's name by the MQTT topic that it sends on: the topic's last level."""
    if not topic:
        return None
    level = last_level(topic)
    return None if len(level) > NAME_LENGTH or NUL in level else level


def is_plain_text(text: str) -> bool:
    """Whether a value that is no number may stand as text: not a structure, and not a number out of range."""
    return (
        not text.startswith(STRUCTURE_STARTS)
        and NUL not in text
        and re.fullmatch(INEXACT_PATTERN, text) is None
    )


def plausible_time(seconds: Decimal, received_ms: int) -> bool:
    return seconds >= EARLIEST_SECONDS and seconds * 1000 <= received_ms + AHEAD_SECONDS * 1000


def _structure_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        # Just deep enough to be read and not to be written: how it begins is all that counts.
        return "[" if isinstance(value, list) else '{":'


def _float_text(value: float) -> str:
    """A float as Java writes it, since the texts must be the same on both sides."""
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"
