"""A publisher that is never the bottleneck: packets made beforehand, on bare sockets, in a process of its own.

It knows nothing of what becomes of the messages but how many have arrived.
"""

import multiprocessing
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from typing import cast

import mqtt5

from strom.mqtt.packets import Session, connect_packet, split
from strom.mqtt.transport import Endpoint

CONNECTIONS = 8
BLOCK = 50  # messages that one call to the system sends
_OPEN = 4  # blocks of QoS 1 on one connection that may wait for their confirmation
_PAUSE = 0.0005
_READ_BYTES = 16 * 1024
_ANSWER_SECONDS = 60.0

# A child process shares nothing with this one but what it is given.
PROCESSES = multiprocessing.get_context("spawn")


def shared_count() -> "Synchronized[int]":
    """A number that two processes see; one of them writes it."""
    return cast("Synchronized[int]", PROCESSES.Value("q", 0))


@dataclass(frozen=True)
class Flood:
    """`count` messages, never more than `under_way` ahead of those that have arrived."""

    endpoint: Endpoint
    messages: list[tuple[str, bytes]]  # topic and payload, sent in turns
    qos: int
    count: int
    under_way: int


@contextmanager
def flooding(flood: Flood, arrived: "Synchronized[int]") -> Iterator[float]:
    """While the block lasts it publishes; yields the moment at which it began."""
    sent = shared_count()
    process = PROCESSES.Process(target=publish, args=(flood, sent, arrived), daemon=True)
    process.start()
    try:
        while not sent.value and process.is_alive():
            time.sleep(_PAUSE)
        yield time.monotonic()
    finally:
        process.terminate()
        process.join()


def publish(flood: Flood, sent: "Synchronized[int]", arrived: "Synchronized[int]") -> None:
    """What the child process does."""
    lines = [_Line(flood.endpoint, f"flood-{number}") for number in range(CONNECTIONS)]
    blocks = [_block(flood, first) for first in range(0, len(flood.messages), BLOCK)]
    for number in range(flood.count // BLOCK):
        while sent.value - arrived.value > flood.under_way:
            time.sleep(_PAUSE)
        line = lines[number % CONNECTIONS]
        # By the time that ids come again on a connection, the block that had them is confirmed.
        line.send(blocks[number % len(blocks)][number // CONNECTIONS % (_OPEN + 1)])
        sent.value += BLOCK
        if flood.qos:
            line.await_confirmed(_OPEN * BLOCK)
    for line in lines:
        line.close()


def _block(flood: Flood, first: int) -> list[bytes]:
    """Some of the messages as one piece of bytes, once for each choice of packet ids."""
    messages = (flood.messages[first:] + flood.messages[:first])[:BLOCK]
    return [
        b"".join(
            mqtt5.PublishPacket(
                topic,
                payload,
                qos=mqtt5.QoS(flood.qos),
                packet_id=turn * BLOCK + place if flood.qos else None,
            ).write()
            for place, (topic, payload) in enumerate(messages, start=1)
        )
        for turn in range(_OPEN + 1)
    ]


class _Line:
    """One connection; blocking, for the broker is the one to wait for."""

    def __init__(self, endpoint: Endpoint, client_id: str) -> None:
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout=_ANSWER_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = b""
        self._unconfirmed = 0
        self._socket.sendall(connect_packet(endpoint, Session(client_id, keep_alive=0)))
        self._take()

    def send(self, block: bytes) -> None:
        self._socket.sendall(block)
        self._unconfirmed += BLOCK

    def await_confirmed(self, most: int) -> None:
        """Until at most so many messages wait for their confirmation."""
        while self._unconfirmed > most:
            self._take()

    def close(self) -> None:
        self._socket.sendall(mqtt5.DisconnectPacket().write())
        self._socket.shutdown(socket.SHUT_WR)
        while self._socket.recv(_READ_BYTES):
            pass
        self._socket.close()

    def _take(self) -> None:
        data = self._unread + self._socket.recv(_READ_BYTES)
        packets: list[mqtt5.Packet] = []
        used = split(memoryview(data), packets)
        self._unread = data[used:]
        self._unconfirmed -= sum(isinstance(packet, mqtt5.PubAckPacket) for packet in packets)
