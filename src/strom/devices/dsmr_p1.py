"""DSMR P1 telegrams, as gateways put them on MQTT: DSMR 2.2 to 5 and what Belgium, Luxembourg, Sweden and others made of it.

The library `dsmr_parser` knows the lines of every variant and checks the CRC; what a line means is told by its OBIS code
(`domain/obis.py`). Values are left as texts, so that one that cannot be read costs only itself. An encrypted telegram
is none until the gateway has decrypted it.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from strom.devices.reading_of import Measured, Said, reading_of
from strom.domain import dialects, units, values
from strom.domain import reading as rules
from strom.domain.obis import SPELLINGS, Kind
from strom.domain.reading import Rejected

DIALECT = dialects.DSMR_P1

MAX_BYTES = 16 * 1024  # the longest have 4 kB, most of it a text to the customer

# Between `/` and `!` stand the lines; the CRC is missing before DSMR 4.
_TELEGRAM = re.compile(r"/[^\r\n]*\r?\n.*^!(?P<crc>[0-9A-F]{4})?\s*", re.DOTALL | re.MULTILINE)
_TELLS_VERSION = re.compile(r"^\d-\d:(0\.2\.8|96\.1\.4)\(", re.MULTILINE)  # DSMR 4 and later, or Belgium
_LINE = re.compile(r"(?P<code>[0-9]-[0-9]:[0-9.]+(\*[0-9]+)?)\(")
_GROUP = re.compile(r"\(([^()]*)\)")

_THOUSANDS = frozenset(
    {"kwh", "kw", "kvarh", "kvar", "kvah", "kva"}
)  # other values come in W and the like, too

CLOCK = "0-0:1.0.0"
# What the flag behind a time says is in force; Swedish meters tell W all the year.
OFFSETS = {"S": timezone(timedelta(hours=2)), "W": timezone(timedelta(hours=1))}

# Where the meter's own number stands: the Netherlands and Belgium, others by DSMR's general code, Luxembourg's name of
# the device, EasyMeter.
METER_NUMBERS = ("0-0:96.1.1", "0-0:96.1.0", "0-0:42.0.0", "0-0:96.1.255*255", "1-0:0.0.0*255")
_IDS = re.compile(r"0-[0-9]:(96\.1\.[01]|42\.0\.0)")  # written as the hexadecimal digits of their characters
# Logs of past power failures and peaks are no values of now.
_LOGS = frozenset({"1-0:99.97.0", "0-0:98.1.0"})

# The last level of a topic that tells what is sent, and not who sends it.
_KINDS = frozenset({"telegram", "raw", "p1", "dsmr"})


class Line(NamedTuple):
    """One line of a telegram: its code as it was sent, and what stands in brackets behind it."""

    code: str
    groups: tuple[str, ...]

    @property
    def measured(self) -> tuple[str, str]:
        """Value and unit; what stands before them is the time, or how to read them."""
        value, _, unit = self.groups[-1].partition("*")
        return value, unit


def decode(
    payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
) -> dict[str, Any]:
    """The reading that a telegram says; Rejected with its reason if it says none."""
    lines = {line.code: line for line in _lines(_checked(payload)) if line.code}
    if not any(code in SPELLINGS for code in lines):
        raise Rejected(rules.NO_KNOWN_REGISTER)
    filled = {code: line for code, line in lines.items() if line.groups and line.groups[-1]}
    clock = filled.pop(CLOCK, None)
    ids = [_id(filled.pop(code).groups[-1]) for code in METER_NUMBERS if code in filled]
    measured = [line for code, line in filled.items() if _is_measured(code)]
    others = [line for code, line in filled.items() if not _is_measured(code) and code not in _LOGS]
    said = Said(
        numbers={SPELLINGS[line.code].field: _measured(line) for line in measured},
        ids=[number for number in ids if number.strip("0")],
        other={line.code: _other(line) for line in others},
        times=[] if clock is None else [_seconds(clock.groups[0])],
        level=values.topic_name(key_of(topic)) if topic else None,
        unreadable=any(_is_measured(code) and not line.groups for code, line in lines.items()),
    )
    return reading_of(said, received_ms=received_ms, source=source)


def key_of(topic: str) -> str:
    """Whose topic it is: its last level, or the one before where that only says what comes: `p1/haus-7/telegram`."""
    *before, last = topic.split("/")
    is_kind = bool(before and before[-1]) and last.lower() in _KINDS
    return before[-1] if is_kind else values.last_level(topic)


def _checked(payload: bytes) -> str:
    """The telegram with the line ends that it should have; Rejected if it is none, cut off or spoilt."""
    text = payload[: MAX_BYTES + 1].decode("latin-1").strip("\0\r\n\t ")
    found = _TELEGRAM.fullmatch(text + "\r\n") if len(payload) <= MAX_BYTES else None
    if found is None:
        raise Rejected(rules.BAD_TELEGRAM)
    whole = re.sub(r"\r*\n", "\r\n", text + "\r\n")
    if found["crc"] is None:
        if _TELLS_VERSION.search(whole):
            raise Rejected(rules.BAD_TELEGRAM)
    else:
        _check_crc(whole)
    return whole


def _check_crc(telegram: str) -> None:
    from dsmr_parser.exceptions import ParseError
    from dsmr_parser.parsers import TelegramParser

    try:
        TelegramParser.validate_checksum(telegram)
    except (ParseError, ValueError):  # ValueError: an exclamation mark before the last one
        raise Rejected(rules.BAD_TELEGRAM) from None


def _lines(telegram: str) -> Iterator[Line]:
    """Those that any variant has; what hangs on the meter (gas, water) is grouped by the library."""
    for _, found in _parser().parse(telegram):
        if isinstance(found, list):
            yield from (line.values for device in found for _, line in device)
        else:
            yield found.values


@cache
def _parser() -> Any:
    """The library's parser for the lines of all its specifications; loaded late, for the bridge has no use for it."""
    from dsmr_parser import telegram_specifications as known
    from dsmr_parser.parsers import TelegramParser

    variants = (
        known.V2_2,
        known.V4,
        known.V5,
        known.BELGIUM_FLUVIUS,
        known.LUXEMBOURG_SMARTY,
        known.MSN,
        known.SWEDEN,
        known.Q3D,
        known.SAGEMCOM_T210_D_R,
        known.ISKRA_IE,
        known.EON_HUNGARY,
    )
    references = dict.fromkeys(each["obis_reference"] for variant in variants for each in variant["objects"])
    objects = [{"obis_reference": each, "value_name": each, "value_parser": _AsTexts} for each in references]
    return TelegramParser({"checksum_support": False, "objects": objects})


class _AsTexts:
    """Reads a line for the library without judging it: its own parsers give up the whole telegram for one bad value."""

    @staticmethod
    def parse(line: str) -> Any:
        from dsmr_parser.objects import DSMRObject

        found = _LINE.match(line)
        code = found["code"] if found else ""
        return DSMRObject((int(line[0]), int(line[2])), Line(code, tuple(_GROUP.findall(line))))


def _is_measured(code: str) -> bool:
    return code in SPELLINGS and SPELLINGS[code].kind in (Kind.COUNTER, Kind.MOMENT)


def _measured(line: Line) -> Measured:
    """The value with its factor; without any text, and so unreadable, if it is told in another unit than it should be."""
    text, unit = line.measured
    times = units.factor(unit, SPELLINGS[line.code].unit)
    return Measured("") if times is None else Measured(text, times)


def _other(line: Line) -> Measured:
    if _IDS.fullmatch(line.code):
        return Measured(_id(line.groups[-1]))
    text, unit = line.measured
    return Measured(text, 1000 if unit.lower() in _THOUSANDS else 1)


def _id(text: str) -> str:
    """An id as it is printed on the meter, where it was sent as the codes of its characters."""
    try:
        printed = bytes.fromhex(text).decode("ascii").strip()
    except ValueError:
        return text
    return printed if values.is_identifier(printed) else text


def _seconds(text: str) -> Decimal | None:
    from dsmr_parser.value_types import timestamp

    zone = OFFSETS.get(text[12:])
    try:
        told = datetime.strptime(text[:12], "%y%m%d%H%M%S").replace(tzinfo=zone) if zone else timestamp(text)
    except ValueError:
        return None
    return None if told is None else Decimal((told - datetime.fromtimestamp(0, UTC)) // timedelta(seconds=1))
