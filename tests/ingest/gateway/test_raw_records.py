"""What the door adds to messages for the raw topic, and to no others."""

import time

from strom.ingest.gateway.messages import Message, RecordHeaders
from strom.ingest.gateway.raw_records import stamped
from strom.streams.topics import RAW


def headers_of(given: RecordHeaders | None) -> dict[str, str | bytes | None]:
    (message,) = stamped([Message(RAW, b"{}", headers=given)], "anna")
    assert message.headers is not None
    assert len({name for name, _ in message.headers}) == len(message.headers)
    return dict(message.headers)


def test_the_headers_of_every_door_are_set() -> None:
    found = headers_of(None)
    received = found.pop("strom-received")
    assert isinstance(received, bytes)
    assert abs(int(received) - time.time() * 1000) < 60_000
    assert found == {"strom-source": b"http", "strom-dialect": b"adapter_json"}


def test_a_sender_may_name_the_dialect_but_not_the_door() -> None:
    given: RecordHeaders = [
        ("strom-dialect", b"dsmr_p1"),
        ("strom-source", b"mqtt"),
        ("strom-received", b"1"),
        ("strom-published", b"2"),
    ]
    found = headers_of(given)
    assert (found["strom-dialect"], found["strom-source"], found["strom-published"]) == (
        b"dsmr_p1",
        b"http",
        b"2",
    )
    assert found["strom-received"] != b"1"


def test_the_key_is_the_senders_own_then_the_meters_name_then_the_senders_name() -> None:
    messages = [
        Message(RAW, b'{"name":"haus-21"}', b"mine"),
        Message(RAW, b'{"name":"haus-21"}'),
        Message(RAW, b'{"1-0:1.8.0":{"value":1}}'),
        Message(RAW, b"no json"),
    ]
    assert [each.key for each in stamped(messages, "anna")] == [b"mine", b"haus-21", b"anna", b"anna"]


def test_messages_for_other_topics_stay_as_they_are() -> None:
    message = Message("other", b'{"name":"haus-21"}', headers=[("a", b"b")])
    assert stamped([message], "anna") == [message]
