"""What a connection says when the other side is away, silent, unwilling, or not MQTT at all."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import mqtt5
import pytest

from strom.backoff import Backoff
from strom.mqtt.connection import ANSWER_SECONDS, Connection
from strom.mqtt.errors import ConnectRefusedError, MqttError, SessionTakenOverError
from strom.mqtt.packets import Session, pubacks
from strom.mqtt.transport import Endpoint, tls_context
from tests.mqtt.driving import Opener, connected, drive
from tests.mqtt.peer import WELCOME, Peer


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def opened() -> Iterator[Opener]:
    opener = Opener()
    yield opener
    opener.close()


@pytest.fixture
def connection(opened: Opener, peer: Peer) -> Connection:
    return opened(peer.endpoint, Session("x"))


def test_a_closed_port_is_named(opened: Opener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    connection = opened(Endpoint("127.0.0.1", port), Session("x"))
    with pytest.raises(MqttError, match=f"cannot connect to 127.0.0.1:{port}: Connection refused"):
        drive([connection], lambda: connection.accepted)


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(MqttError, match=r"cannot find the host nowhere\.invalid"):
        Connection(Endpoint("nowhere.invalid", 1883), Session("x"), now=0.0)


def test_a_refusal_carries_the_reason_and_whether_to_ask_again(peer: Peer, connection: Connection) -> None:
    peer.say(mqtt5.ConnAckPacket(reason_code=mqtt5.ConnAckReasonCode.BAD_USER_NAME_OR_PASSWORD).write())
    with pytest.raises(ConnectRefusedError, match="bad user name or password") as refusal:
        drive([connection], lambda: connection.accepted)
    assert refusal.value.permanent


def test_a_busy_broker_may_be_asked_again(peer: Peer, connection: Connection) -> None:
    peer.say(mqtt5.ConnAckPacket(reason_code=mqtt5.ConnAckReasonCode.SERVER_BUSY).write())
    with pytest.raises(ConnectRefusedError, match="server busy") as refusal:
        drive([connection], lambda: connection.accepted)
    assert not refusal.value.permanent


def test_what_is_not_mqtt_is_refused(peer: Peer, connection: Connection) -> None:
    peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"\xff" * 100)
    with pytest.raises(MqttError, match="not MQTT 5"):
        drive([connection], lambda: connection.accepted)


def test_a_silent_peer_is_given_up(peer: Peer, connection: Connection) -> None:
    peer.say(b"")
    with pytest.raises(MqttError, match="does not answer"):
        connection.tick(time.monotonic() + ANSWER_SECONDS + 1)


def test_a_broker_that_stops_answering_pings_is_given_up(peer: Peer, connection: Connection) -> None:
    peer.say(WELCOME)
    connected(connection)
    connection.tick(time.monotonic() + 20)
    with pytest.raises(MqttError, match="does not answer"):
        connection.tick(time.monotonic() + 20 + ANSWER_SECONDS + 1)


def test_a_connection_that_does_not_read_is_not_taken_for_dead(peer: Peer, connection: Connection) -> None:
    peer.say(WELCOME)
    connected(connection)
    connection.reading = False
    for later in range(20, 1000, 20):
        connection.tick(time.monotonic() + later)  # would raise
    assert connection.accepted


def test_a_broker_that_closes_is_noticed(peer: Peer, connection: Connection) -> None:
    peer.say(WELCOME)
    connected(connection)
    peer.close()
    with pytest.raises(MqttError, match=r"closed the connection|broke"):
        drive([connection], lambda: False)


def test_a_session_taken_over_is_told_apart(peer: Peer, connection: Connection) -> None:
    taken = mqtt5.DisconnectReasonCode.SESSION_TAKEN_OVER
    peer.say(WELCOME, mqtt5.DisconnectPacket(reason_code=taken).write())
    with pytest.raises(SessionTakenOverError):
        drive([connection], lambda: False)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            mqtt5.DisconnectPacket(reason_code=mqtt5.DisconnectReasonCode.SERVER_SHUTTING_DOWN).write(),
            "ended",
        ),
        (b"\xff" * 100, "not MQTT 5"),
    ],
    ids=["farewell", "nonsense"],
)
def test_what_came_before_the_end_is_handed_over_first(
    peer: Peer, connection: Connection, end: bytes, words: str
) -> None:
    peer.say(WELCOME)
    connected(connection)
    peer.say(*(mqtt5.PublishPacket("t", b"%d" % number).write() for number in range(3)), end)
    packets: list[mqtt5.Packet] = []
    with pytest.raises(MqttError, match=words):
        drive([connection], lambda: False, packets)
    assert [each.payload for each in packets if isinstance(each, mqtt5.PublishPacket)] == [b"0", b"1", b"2"]


def test_an_end_that_came_behind_a_message_is_told_also_to_whoever_does_not_read_on(
    peer: Peer, connection: Connection
) -> None:
    peer.say(WELCOME)
    connected(connection)
    peer.say(mqtt5.PublishPacket("t", b"the last").write(), mqtt5.DisconnectPacket().write())
    packets: list[mqtt5.Packet] = []
    drive([connection], lambda: bool(packets), packets)
    connection.reading = False
    connection.acknowledge([1])
    assert connection.unsent == 0  # there is nobody to take it, and nothing to wait for
    with pytest.raises(MqttError, match="the broker ended the connection"):
        connection.tick(time.monotonic())


def test_the_brokers_limits_are_kept(peer: Peer, connection: Connection) -> None:
    peer.say(mqtt5.ConnAckPacket(receive_max=2, max_packet_size=100).write())
    connected(connection)
    assert connection.room == 2
    connection.publish("t", b"a", qos=1)
    connection.publish("t", b"b", qos=1)
    assert connection.room == 0
    with pytest.raises(ValueError, match="more than the 100"):
        connection.publish("t", b"x" * 200)
    peer.say(mqtt5.PubAckPacket(1).write())
    drive([connection], lambda: connection.room == 1)
    assert connection.unconfirmed == {2}


def test_packets_split_anywhere_are_put_together(peer: Peer, connection: Connection) -> None:
    stream = WELCOME + b"".join(mqtt5.PublishPacket("t", b"%d" % number).write() for number in range(5))
    packets: list[mqtt5.Packet] = []
    for place in range(len(stream)):
        peer.say(stream[place : place + 1])
        drive([connection], lambda: True, packets)
        packets += connection.handle(time.monotonic()) if connection.accepted else []
    drive([connection], lambda: len(packets) == 6, packets)
    assert [each.payload for each in packets if isinstance(each, mqtt5.PublishPacket)] == [
        b"0",
        b"1",
        b"2",
        b"3",
        b"4",
    ]


def test_a_missing_certificate_authority_is_named() -> None:
    with pytest.raises(MqttError, match=r"cannot read the certificate authority /nowhere/ca\.pem"):
        tls_context(Endpoint("localhost", 8883, tls=True, ca_file=Path("/nowhere/ca.pem")))


def test_waiting_grows_to_a_limit_and_starts_anew_after_success() -> None:
    backoff = Backoff(first=1.0, longest=8.0)
    waits = [backoff.next() for _ in range(6)]
    assert all(wait <= limit for wait, limit in zip(waits, [1, 2, 4, 8, 8, 8], strict=True))
    assert all(wait >= limit / 2 for wait, limit in zip(waits, [1, 2, 4, 8, 8, 8], strict=True))
    backoff.reset()
    assert backoff.next() <= 1.0


def test_acknowledgements_written_in_one_go_are_what_the_codec_would_write() -> None:
    ids = [1, 255, 256, 65535]
    assert pubacks(ids) == b"".join(mqtt5.PubAckPacket(packet_id).write() for packet_id in ids)
    assert pubacks([]) == b""
