"""The bridge's line to MQTT against a broker that says what a test tells it to: endings, and what is counted."""

import selectors
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mqtt5
import pytest

from strom.ingest.counters import Counters
from strom.ingest.line import MqttLine
from strom.settings import MqttSettings, Settings
from tests.mqtt.peer import WELCOME, Peer
from tests.waiting import until

SUBSCRIBED = mqtt5.SubAckPacket(1, [mqtt5.SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE]).write()
FAREWELL = mqtt5.DisconnectPacket(reason_code=mqtt5.DisconnectReasonCode.SERVER_SHUTTING_DOWN).write()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


class Driven:
    """A line, moved as the bridge moves it."""

    def __init__(self, peer: Peer, home: Path) -> None:
        self.counters = Counters()
        self.came: list[mqtt5.PublishPacket] = []
        self.confirmed_of: list[list[int]] = []  # for each that came, where its id must go
        self._selector = selectors.DefaultSelector()
        settings = Settings(home=home, mqtt=MqttSettings(address=str(peer.endpoint)))
        self.line = MqttLine(settings, self._selector, self.counters, ["sma"])

    def until(self, ask: Callable[[], bool], what: str) -> None:
        """Move it until the condition holds."""

        def moved() -> bool:
            self._step()
            return ask()

        until(moved, what)

    def close(self) -> None:
        self.line.close(time.monotonic())
        self._selector.close()

    def _step(self) -> None:
        self.line.prepare(time.monotonic(), reading=True)
        if not self._selector.get_map():
            return
        for _ in self._selector.select(0.05):
            for message in self.line.messages(time.monotonic()):
                self.came.append(message)
                self.confirmed_of.append(self.line.confirmed)


@pytest.fixture
def driven(peer: Peer, tmp_path: Path) -> Iterator[Driven]:
    driven = Driven(peer, tmp_path)
    yield driven
    driven.close()


def test_messages_that_came_with_a_farewell_are_handed_over_and_their_ids_die_with_the_connection(
    peer: Peer, driven: Driven
) -> None:
    driven.until(peer.is_asked, "it connects")
    last = mqtt5.PublishPacket("sma", b"at QoS 1", qos=mqtt5.QoS.AT_LEAST_ONCE, packet_id=7)
    peer.say(WELCOME, SUBSCRIBED, mqtt5.PublishPacket("sma", b"at QoS 0").write(), last.write(), FAREWELL)
    driven.until(
        lambda: driven.line.until_next_attempt(time.monotonic()) is not None, "it is told of the end"
    )
    assert [message.payload for message in driven.came] == [b"at QoS 0", b"at QoS 1"]
    assert all(confirmed is not driven.line.confirmed for confirmed in driven.confirmed_of)


def test_connections_after_the_first_are_counted_and_attempts_are_not(peer: Peer, driven: Driven) -> None:
    driven.until(peer.is_asked, "it connects")
    peer.hang_up()  # before it was let in
    driven.until(peer.is_asked, "it connects again")
    peer.say(WELCOME, SUBSCRIBED)
    driven.until(lambda: driven.line.subscribed, "it is let in")
    assert driven.counters.reconnects == 0
    peer.hang_up()
    driven.until(peer.is_asked, "it connects once more")
    assert driven.counters.reconnects == 0
    peer.say(WELCOME, SUBSCRIBED)
    driven.until(lambda: driven.line.subscribed, "it is let in again")
    assert driven.counters.reconnects == 1
