"""A connection against a real Mosquitto: publishing, subscribing, many at once, large packets, pings."""

import os
import time
from collections.abc import Callable, Iterator

import mqtt5
import pytest

from strom.mqtt.connection import Connection
from strom.mqtt.packets import LONGEST_SESSION, Session
from strom.mqtt.transport import Endpoint
from strom.settings import Settings
from tests.mqtt.driving import Opener, connected, drive

pytestmark = pytest.mark.stack

Unique = Callable[[str], str]


@pytest.fixture
def endpoint(stack: Settings) -> Endpoint:
    return Endpoint.of(stack)


@pytest.fixture
def opened() -> Iterator[Opener]:
    opener = Opener()
    yield opener
    opener.close()


def subscribed(connection: Connection, topic: str) -> Connection:
    connected(connection).subscribe([topic, f"{topic}/+"])
    packets: list[mqtt5.Packet] = []
    drive([connection], lambda: any(isinstance(each, mqtt5.SubAckPacket) for each in packets), packets)
    return connection


def messages(packets: list[mqtt5.Packet]) -> list[mqtt5.PublishPacket]:
    return [packet for packet in packets if isinstance(packet, mqtt5.PublishPacket)]


def test_what_is_published_arrives_with_its_properties(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    topic = unique("t")
    reader = subscribed(opened(endpoint, Session(unique("reader"))), topic)
    writer = connected(opened(endpoint, Session(unique("writer"))))
    assert writer.publish(topic, b"zero") is None
    assert writer.publish(f"{topic}/below", b"one", qos=1, user_properties=[("strom-published", "5")]) == 1
    packets: list[mqtt5.Packet] = []
    drive([reader, writer], lambda: len(messages(packets)) == 2 and not writer.unconfirmed, packets)
    zero, one = messages(packets)
    assert (zero.payload, zero.packet_id) == (b"zero", None)
    assert (one.topic, one.payload, one.user_properties) == (
        f"{topic}/below",
        b"one",
        [("strom-published", "5")],
    )


def test_hundreds_of_connections_share_one_loop(opened: Opener, endpoint: Endpoint, unique: Unique) -> None:
    topic = unique("t")
    reader = subscribed(opened(endpoint, Session(unique("reader"))), topic)
    writers = [opened(endpoint, Session(unique("writer"))) for _ in range(300)]
    drive(writers, lambda: all(writer.accepted for writer in writers))
    for number, writer in enumerate(writers):
        writer.publish(topic, str(number).encode(), qos=1)
    packets: list[mqtt5.Packet] = []
    drive([reader, *writers], lambda: len(messages(packets)) == len(writers), packets)
    drive(writers, lambda: not any(writer.unconfirmed for writer in writers))
    assert {int(message.payload) for message in messages(packets)} == set(range(len(writers)))


def test_packets_larger_than_any_buffer_pass_both_ways(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    topic = unique("t")
    reader = subscribed(opened(endpoint, Session(unique("reader"))), topic)
    writer = connected(opened(endpoint, Session(unique("writer"))))
    large = [os.urandom(1_000_000) for _ in range(5)]
    for payload in large:
        writer.publish(topic, payload, qos=1)
    packets: list[mqtt5.Packet] = []
    drive([reader, writer], lambda: len(messages(packets)) == len(large), packets)
    assert [message.payload for message in messages(packets)] == large


def test_a_session_keeps_what_was_not_acknowledged(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    topic = unique("t")
    session = Session(unique("reader"), clean_start=False, expiry_seconds=LONGEST_SESSION)
    reader = subscribed(opened(endpoint, session), topic)
    writer = connected(opened(endpoint, Session(unique("writer"))))
    for payload in (b"a", b"b", b"c"):
        writer.publish(topic, payload, qos=1)
    packets: list[mqtt5.Packet] = []
    drive([reader, writer], lambda: len(messages(packets)) == 3, packets)
    reader.acknowledge([messages(packets)[0].packet_id or 0])
    drive([reader], lambda: not reader.unsent)
    reader.close()

    again = opened(endpoint, session)
    redelivered: list[mqtt5.Packet] = []
    drive([again], lambda: len(messages(redelivered)) == 2, redelivered)
    assert again.session_present
    assert [message.payload for message in messages(redelivered)] == [b"b", b"c"]


def test_the_broker_waits_for_acknowledgements_at_the_receive_maximum(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    topic = unique("t")
    reader = subscribed(opened(endpoint, Session(unique("reader"), receive_max=3)), topic)
    writer = connected(opened(endpoint, Session(unique("writer"))))
    for number in range(10):
        writer.publish(topic, b"%d" % number, qos=1)
    drive([writer], lambda: not writer.unconfirmed)
    packets: list[mqtt5.Packet] = []
    drive([reader], lambda: len(messages(packets)) == 3, packets)
    # The answer to a ping comes after everything that the broker wanted to send before it.
    reader.tick(time.monotonic() + 20)
    drive([reader], lambda: reader.waiting_since is None, packets)
    assert len(messages(packets)) == 3
    reader.acknowledge([message.packet_id or 0 for message in messages(packets)])
    # Some versions of Mosquitto send more than the maximum once the first have been acknowledged.
    drive([reader, writer], lambda: len(messages(packets)) >= 6, packets)


def test_a_ping_is_sent_when_nothing_else_was_and_is_answered(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    connection = connected(opened(endpoint, Session(unique("quiet"), keep_alive=10)))
    start = time.monotonic()
    connection.tick(start)
    assert connection.waiting_since is None
    connection.tick(start + 6)
    assert connection.waiting_since is not None
    drive([connection], lambda: connection.waiting_since is None)


def test_a_connection_that_is_told_not_to_read_leaves_messages_in_the_socket(
    opened: Opener, endpoint: Endpoint, unique: Unique
) -> None:
    topic = unique("t")
    reader = subscribed(opened(endpoint, Session(unique("reader"))), topic)
    reader.reading = False
    writer = connected(opened(endpoint, Session(unique("writer"))))
    writer.publish(topic, b"later", qos=1)
    drive([writer], lambda: not writer.unconfirmed)
    assert reader.handle(time.monotonic()) == []
    reader.reading = True
    packets: list[mqtt5.Packet] = []
    drive([reader], lambda: len(messages(packets)) == 1, packets)
