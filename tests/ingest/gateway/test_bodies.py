"""Messages as callers write them: what is taken, what is refused, and that the sentence names the place."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.bodies import LARGEST, read_messages
from strom.ingest.gateway.messages import Alike, Message
from strom.ingest.gateway.places import read_places, read_timeout

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
PROPERTIES = st.sampled_from(
    ["value", "topic", "key", "partition", "timestamp", "headers", "offset", "timeout"]
)
NEARLY_A_MESSAGE = st.dictionaries(PROPERTIES, ANYTHING | st.text() | st.integers(-2, 9))


def refusal(body: Any, topic: str | None = "t") -> Problem:
    with pytest.raises(Problem) as caught:
        read_messages(body if isinstance(body, bytes) else json.dumps(body).encode(), topic)
    return caught.value


def test_a_message_with_everything_is_read_as_it_stands() -> None:
    headers = [{"key": "h", "value": "ä"}, {"key": "h", "value": ""}]
    body = {"value": "ü", "key": "k", "partition": 3, "timestamp": 1763229600000, "headers": headers}
    given_ = read_messages(json.dumps(body).encode(), "t")
    assert given_.messages == [
        Message("t", "ü".encode(), b"k", 3, 1763229600000, [("h", "ä".encode()), ("h", b"")])
    ]
    assert not given_.is_array


def test_an_array_keeps_its_order_and_may_be_empty() -> None:
    given_ = read_messages(b'[{"value":"1"},{"value":"2","key":"k"},{"key":"","value":""}]', "t")
    assert [(each.value, each.key) for each in given_.messages] == [(b"1", None), (b"2", b"k"), (b"", b"")]
    assert read_messages(b"[]", "t").messages == []


def test_messages_with_a_key_and_nothing_else_are_held_together() -> None:
    given_ = read_messages('[{"value":"ä","key":"k"},{"key":"k","value":"2"}]'.encode(), "t")
    assert given_.messages == Alike("t", ["ä", "2"], [b"k", b"k"])
    assert list(given_.messages) == [Message("t", "ä".encode(), b"k"), Message("t", b"2", b"k")]


@pytest.mark.parametrize(
    "odd",
    [
        {"value": "2"},
        {"value": "2", "key": "k", "partition": 0},
        {"value": "2", "key": "k", "headers": []},
        {"value": "2", "timestamp": 5},
    ],
)
def test_one_that_is_not_like_the_others_is_read_all_the_same(odd: dict[str, Any]) -> None:
    alike = {"value": "1", "key": "k"}
    given_ = read_messages(json.dumps([alike, odd, alike]).encode(), "t")
    assert not isinstance(given_.messages, Alike)
    assert [each.value for each in given_.messages] == [b"1", b"2", b"1"]


def test_each_message_names_its_topic_where_the_path_names_none() -> None:
    given_ = read_messages(b'[{"value":"1","topic":"a"},{"topic":"b","value":"2","key":"k"}]', None)
    assert [(each.topic, each.key) for each in given_.messages] == [("a", None), ("b", b"k")]


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (5, "a message is an object with a value, not 5."),
        (None, "a message is an object with a value, not null."),
        ([], "a message is an object with a value, not an array."),
        ({}, "value is missing; it is the text to write."),
        ({"value": None}, "value is null, but must be a string."),
        ({"value": {"a": 1}}, "value is an object, but must be a string."),
        ({"value": "x" * 99, "key": 5}, "key is 5, but must be a string."),
        ({"value": "v", "key": None}, "key is null, but must be a string."),
        ({"value": "v", "topic": "t"}, '"topic" is not a property of a message.'),
        ({"value": "v", "kye": "k"}, '"kye" is not a property of a message.'),
        ({"value": "v", "partition": -1}, "partition is -1, but must be from 0 to 2147483647."),
        ({"value": "v", "partition": True}, "partition is true, but must be a whole number."),
        ({"value": "v", "partition": 1.0}, "partition is 1.0, but must be a whole number."),
        ({"value": "v", "partition": "1"}, 'partition is "1", but must be a whole number.'),
        ({"value": "v", "partition": 2**31}, "partition is 2147483648, but must be from 0 to 2147483647."),
        ({"value": "v", "timestamp": 0}, "timestamp is 0, but must be from 1 to 9223372036854775807."),
        ({"value": "v", "timestamp": "now"}, 'timestamp is "now", but must be a whole number.'),
        (
            {"value": "v", "headers": {}},
            "headers is an object, but must be an array of objects with key and value.",
        ),
        ({"value": "v", "headers": [5]}, "headers[0] is 5, but must be an object with key and value."),
        (
            {"value": "v", "headers": [{"key": "a", "value": "b"}, {"key": "a"}]},
            "headers[1] is an object, but must be an object with key and value.",
        ),
        (
            {"value": "v", "headers": [{"key": "a", "value": 1}]},
            "headers[0].value is 1, but must be a string.",
        ),
        ({"value": "v", "headers": [{"key": "\0", "value": ""}]}, "headers[0].key has a NUL character"),
    ],
)
def test_what_is_wrong_with_a_message_is_said_with_its_index(item: Any, sentence: str) -> None:
    alone = refusal(item) if not isinstance(item, list) else None
    among = refusal([{"value": "good"}, {"value": "good", "key": "k"}, item, {"value": 1}])
    assert among.status == 400
    assert among.sentence.startswith(f"messages[2]: {sentence}")
    if alone is not None:
        assert (alone.status, alone.sentence[: len(sentence)]) == (400, sentence)


def test_a_message_without_a_topic_is_refused_where_the_path_names_none() -> None:
    assert refusal([{"value": "v", "topic": "t"}, {"value": "v"}], None).sentence.startswith(
        "messages[1]: topic is missing"
    )
    assert refusal({"value": "v", "topic": 5}, None).sentence == "topic is 5, but must be a string."
    assert "kye" in refusal({"value": "v", "topic": "t", "kye": ""}, None).sentence


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"value",
        b'{"value":"v"',
        b'{"value":"v"} {}',
        b'{"value":"v","partition":NaN}',
        b'{"value":"\\ud800"}',
        b'{"value":"\xff"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"value":"v","partition":' + b"1" * 5000 + b"}",
    ],
)
def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    assert refusal(body).status == 400


def test_a_message_larger_than_kafka_takes_is_refused_by_its_index() -> None:
    large = {"value": "x" * (LARGEST - 20), "key": "k" * 21}
    assert refusal([{"value": "v"}, large]).status == 413
    assert refusal([{"value": "v"}, large]).sentence.startswith("messages[1]: the message has 2,")
    fits = {"value": "x" * (LARGEST - 20), "key": "k" * 20}
    assert len(read_messages(json.dumps([fits, fits]).encode(), "t").messages) == 2


def refused_status(read: Callable[[], object]) -> int | None:
    """None if it was taken."""
    try:
        read()
    except Problem as problem:
        return problem.status
    return None


@given(st.lists(NEARLY_A_MESSAGE) | NEARLY_A_MESSAGE | ANYTHING, st.sampled_from(["t", None]))
def test_any_json_is_read_or_refused_with_400(body: Any, topic: str | None) -> None:
    text = json.dumps(body).encode()
    status = refused_status(lambda: read_messages(text, topic))
    assert status in (None, 400)
    if status is None:
        assert len(read_messages(text, topic).messages) == (len(body) if isinstance(body, list) else 1)


@given(st.binary())
def test_any_bytes_are_read_or_refused_with_400(body: bytes) -> None:
    assert refused_status(lambda: read_messages(body, "t")) in (None, 400)


@given(st.lists(NEARLY_A_MESSAGE) | NEARLY_A_MESSAGE | ANYTHING, st.booleans())
def test_any_json_names_places_or_is_refused_with_400(body: Any, offsets: bool) -> None:
    assert refused_status(lambda: read_timeout(body)) in (None, 400)
    assert refused_status(lambda: read_places(body, offsets=offsets, timeout=True)) in (None, 400)
