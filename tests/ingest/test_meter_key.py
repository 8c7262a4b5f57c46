"""The key of a raw record: the adapter's name, found cheaply and correctly in whatever comes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.ingest.meter_key import meter_key


def key(payload: bytes, topic: str = "sma/adapter-7") -> str:
    return meter_key(payload, topic, "sma").decode()


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"api_version":"v1","name":"haus-21","sma_time":1.5}', "haus-21"),
        ('{"name":"Wohnung Süd"}'.encode(), "Wohnung Süd"),
        (b' { "name" : "spaced" } ', "spaced"),
        (rb'{"name":"tab\tand \u00fc"}', "tab\tand ü"),
        (rb'{"na\u006de":"escaped key"}', "escaped key"),
        (b'{"1-0:1.8.0":{"value":1,"name":"inner"},"name":"outer"}', "outer"),
        (b'{"text":"\\"name\\":\\"fake\\"","name":"real"}', "real"),
        (b'{"n":' + b"9" * 5000 + b',"x":{},"name":"after a long number"}', "after a long number"),
    ],
)
def test_the_key_is_the_name_of_the_outermost_object(payload: bytes, expected: str) -> None:
    assert key(payload) == expected


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00\xff\xfe binary",
        b"not json with name",
        b"[]",
        b'["name"]',
        b'"name"',
        b"{}",
        b'{"name":""}',
        b'{"name":null}',
        b'{"name":5}',
        b'{"name":{"name":"inner"}}',
        b'{"inner":{"name":"inner"}}',
        b'{"name":"\xff\xfe"}',
        rb'{"name":"\ud800"}',
        b'{"a":' * 100_000 + b'"name"',
        b'{"name' + b" " * 1_000_000,
        b'{"a":1,' * 100_000 + b'"name":"x"}',
    ],
)
def test_without_a_name_the_key_is_the_last_level_of_the_topic(payload: bytes) -> None:
    assert key(payload) == "adapter-7"


def test_without_a_name_or_a_level_the_key_is_the_topic() -> None:
    assert key(b"", topic="sma") == "sma"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@given(st.dictionaries(st.text() | st.just("name"), json_values), st.booleans())
def test_the_key_agrees_with_a_full_parser(payload: dict[str, object], ascii_only: bool) -> None:
    name = payload.get("name")
    expected = name if isinstance(name, str) and name else "adapter-7"
    assert key(json.dumps(payload, ensure_ascii=ascii_only).encode()) == expected


@given(st.binary())
def test_any_bytes_have_a_key(payload: bytes) -> None:
    assert key(payload)
