"""Records that nobody should have written, for each topic of the contract: whoever reads the topic must go on."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka

from strom.settings import Settings
from strom.streams import topics
from strom.streams.producer import open_producer

SECONDS = 60.0
Headers = tuple[tuple[str, bytes | None], ...]

# Whole values.
VALUES: dict[str, bytes | None] = {
    "tombstone": None,
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "text": b'"x"',
    "number": b"5",
    "object": b"{}",
    "NaN": b"NaN",
    "brackets": b"[" * 100_000,
    "braces": b'{"a":' * 100_000,
    "not UTF-8": b'{"meter":"\xff\xfe"}',
    "surrogate": b'{"a":"\\ud800"}',
    "NUL": b"\x00\x00",
    "trailing text": b"{} x",
    "long number": b"9" * 5_000,
}

# Values of a member, as they stand in JSON.
MEMBERS: dict[str, str] = {
    "null": "null",
    "list": "[]",
    "full list": '[1,"x"]',
    "object": '{"a":1}',
    "text": '"x"',
    "empty": '""',
    "like an object": '"{x"',
    "true": "true",
    "zero": "0",
    "negative": "-99999999999999",
    "huge": "9223372036854775807",
    "1e999": "1e999",
    "huge exponent": "1e999999999",
    "tiny exponent": "-1.5E-999999999",
    "NaN": "NaN",
    "NUL": '"a\\u0000b"',
    "NUL inside": '{"a":"\\u0000"}',
    "NUL in a list": '["a\\u0000b"]',
    "surrogate": '"a\\ud800b"',
    "surrogate inside": '{"a":"\\udc00"}',
    "long": f'"{"x" * 10_000}"',
    "brackets": f"{'[' * 900}{']' * 900}",
    "year 9999": '"9999-12-31T23:59:59Z"',
    "year 99999": '"+99999-12-31T23:59:59Z"',
    "year 1": '"0001-01-01T00:00:00Z"',
    "before 1970": '"1969-12-31T23:59:59Z"',
}

NUMBERS = (
    b"",
    b"x",
    b"-1",
    b"1e999",
    b"9" * 5_000,
    b"253402300800000",
    b"9223372036854775807",
    b"\x001763240000123",
    "١٧٦٣٢٤٠٠٠٠١٢٣".encode(),
    b"\xff",
    None,
)
ORIGINS = (
    b"",
    b"elsewhere",
    b"a\0b/0/1",
    b"a/0/\x001",
    b"\xff/0/1",
    b"a" * 5_000 + b"/0/1",
    b"a/2147483648/1",
    b"a/0/9223372036854775808",
    b"sma-kafka/0/" + b"9" * 5_000,
    b"sma-kafka/" + b"9" * 5_000 + b"/0",
    "sma-kafka/0/²".encode(),
    None,
)

_READING = {"meter": '"hostile"', "at": '"2026-01-01T00:00:00Z"', "received": '"2026-01-01T00:00:01Z"'}
_READING_FIELDS = (
    "meter", "at", "received", "source", "clock", "import_wh", "voltage_l1_v", "meter_number", "other", "flags",
)  # fmt: skip
_ALERT = {
    "v": "1", "id": '"hostile"', "meter": '"hostile"', "kind": '"silent"', "severe": "false",
    "started": '"2026-01-01T00:00:00Z"', "threshold": "1", "text": '"words"',
}  # fmt: skip
_ALERT_FIELDS = ("id", "meter", "kind", "part", "severe", "started", "ended", "withdrawn", "text", "value")
_LARGE_PART = b"0123456789abcdef/0/2/0123456789abcdef"


@dataclass(frozen=True)
class Hostile:
    name: str
    value: bytes | None
    key: bytes | None = b"hostile"
    headers: Headers = ()


def hostile(topic: str) -> list[Hostile]:
    """What a topic may hold; no two from the same place of the raw topic."""
    general = [
        Hostile(name, value, headers=_origin(number)) for number, (name, value) in enumerate(VALUES.items())
    ]
    bare = [Hostile(f"{name}, bare", value, None) for name, value in VALUES.items()]
    key = [
        Hostile("strange key", b"{}", b"\xff\x00" * 50),
        Hostile("twice", b"{}", headers=(*_origin(1), *_origin(2))),
    ]
    if topic in (topics.LOAD_PROFILE, topics.METERS):
        bare = []  # a compacted topic takes no record without a key
    return [*general, *bare, *key, *_SPECIAL.get(topic, lambda: iter(()))()]


def put(settings: Settings, topic: str, records: Sequence[Hostile]) -> None:
    producer = open_producer(settings, "strom-test")
    answers: list[object] = []
    for each in records:
        producer.produce(
            topic,
            each.value,
            each.key,
            headers=list(each.headers),
            on_delivery=lambda error, _: answers.append(error),
        )
    assert (producer.flush(SECONDS), set(answers)) == (0, {None})
    put_header_without_a_name(settings, topic)


def put_header_without_a_name(settings: Settings, topic: str) -> None:
    """A header whose name is no UTF-8: Python's client cannot write it, the library below it can."""
    library = ctypes.CDLL(_library())
    for make in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_headers_new"):
        getattr(library, make).restype = ctypes.c_void_p
    words = ctypes.create_string_buffer(512)
    config = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(config, b"bootstrap.servers", settings.kafka_bootstrap.encode(), words, 512)
    client = ctypes.c_void_p(library.rd_kafka_new(0, config, words, 512))
    headers = ctypes.c_void_p(library.rd_kafka_headers_new(1))
    library.rd_kafka_header_add(headers, b"\xff\xfe", 2, b"v", 1)
    # Pairs of a kind and what it says: topic, value, key, headers, flags (copy the value), end.
    value = (ctypes.c_int(4), b"{}", ctypes.c_size_t(2), ctypes.c_int(5), b"hostile", ctypes.c_size_t(7))
    flags = (ctypes.c_int(7), ctypes.c_int(2), ctypes.c_int(0))
    sent = library.rd_kafka_producev(
        client, ctypes.c_int(1), topic.encode(), *value, ctypes.c_int(10), headers, *flags
    )
    assert (sent, library.rd_kafka_flush(client, round(SECONDS * 1000))) == (0, 0)
    library.rd_kafka_destroy(client)


def _library() -> str:
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    return str(next(folder.glob("librdkafka-*.so*")))


def _origin(number: int) -> Headers:
    return ((topics.HEADER_ORIGIN, f"hostile-raw/0/{number}".encode()),)


def _json(members: dict[str, str]) -> bytes:
    return ("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}").encode()


def _changed(whole: dict[str, str], fields: Sequence[str], first: int = 1_000) -> Iterator[Hostile]:
    number = first
    for field in fields:
        for name, text in MEMBERS.items():
            number += 1
            yield Hostile(f"{field} is {name}", _json(whole | {field: text}), headers=_origin(number))


def _readings() -> Iterator[Hostile]:
    yield from _changed(_READING, _READING_FIELDS)
    good = _json(_READING)
    for number, origin in enumerate(ORIGINS):
        yield Hostile(f"origin {number}", good, headers=((topics.HEADER_ORIGIN, origin),))
    for number, told in enumerate(NUMBERS):
        yield Hostile(
            f"published {number}", good, headers=(*_origin(5_000 + number), (topics.HEADER_PUBLISHED, told))
        )
    for at in ("1970-01-01T00:00:00Z", "2099-12-31T23:59:59Z"):  # plausible to a machine
        times = {"at": f'"{at}"', "received": f'"{at}"', "import_wh": "1000", "import_w": "5"}
        yield Hostile(f"at {at}", _json(_READING | times), headers=_origin(6_000 + int(at[:4])))


def _alerts() -> Iterator[Hostile]:
    return _changed(_ALERT, _ALERT_FIELDS)


def _raw() -> Iterator[Hostile]:
    whole = {"name": '"hostile"', "1-0:1.8.0": '{"value":1,"time":1763230500}'}
    entries = {name: f'{{"value":{text},"time":{text}}}' for name, text in MEMBERS.items()}
    for number, (name, text) in enumerate(entries.items()):
        yield Hostile(f"register is {name}", _json(whole | {"1-0:1.8.0": text}), headers=_origin(number))
        yield Hostile(f"unknown register is {name}", _json(whole | {"9-9:9.9.9": text}))
    yield from _changed(whole, ("name", "1-0:1.8.0", "1-0:96.1.0", "0-0:96.1.255"))
    yield from _headers(_json(whole))


def _headers(value: bytes) -> Iterator[Hostile]:
    """What doors and `normalise` write, as nobody would."""
    origin = ((topics.HEADER_ORIGIN, b"sma-kafka/0/0"),)
    for header in (topics.HEADER_RECEIVED, topics.HEADER_PUBLISHED, topics.HEADER_PART, topics.HEADER_ORIGIN,
                   topics.HEADER_SOURCE, topics.HEADER_DIALECT, topics.HEADER_TOPIC, topics.HEADER_REASON,
                   topics.HEADER_DETAIL, topics.HEADER_REDRIVEN):  # fmt: skip
        for number, told in enumerate((*NUMBERS, *ORIGINS)):
            yield Hostile(f"{header} {number}", value, headers=((header, told),))
            yield Hostile(
                f"{header} {number} twice", value, headers=(*origin, (header, b"1"), (header, told))
            )


def _side() -> Iterator[Hostile]:
    """With a place in the raw topic that may be true, and an arrival that may not."""
    for number, told in enumerate(NUMBERS):
        for part in (None, _LARGE_PART, b"x", b"\xff"):
            parts = () if part is None else ((topics.HEADER_PART, part),)
            origin = (topics.HEADER_ORIGIN, f"sma-kafka/0/{number}".encode())
            yield Hostile(
                f"arrival {number}", b"{}", headers=(origin, (topics.HEADER_RECEIVED, told), *parts)
            )
    yield from _headers(b"{}")


def _letters() -> Iterator[Hostile]:
    yield from _headers(b"{}")


def _redriven() -> Iterator[Hostile]:
    for name, text in MEMBERS.items():
        yield Hostile(f"letter is {name}", _json({"letter": text}), b"0/0")
        yield Hostile(f"letter is {name}, strange place", _json({"letter": text}), b"\xff")
        yield Hostile(f"a run began at {name}", _json({"began_ms": text}), b"run")
    for name, value in VALUES.items():
        yield Hostile(f"run is {name}", value, b"run")
        yield Hostile(f"place with {name}", value, b"\xff\x00/1")


_SPECIAL = {
    topics.RAW: _raw,
    topics.SIDE: _side,
    topics.READINGS: _readings,
    topics.DEAD_LETTER: _letters,
    topics.REDRIVEN: _redriven,
    topics.ALERTS: _alerts,
}
