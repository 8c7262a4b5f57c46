"""The limit that any carrier is held against: a subscriber on Strom's own connection that reads, counts, acknowledges.

It carries nothing anywhere; whatever is slower than this spends its time on carrying.
"""

import selectors
import time
from multiprocessing.sharedctypes import Synchronized

import mqtt5

from strom.ingest.bridge import BREATH, FEW
from strom.ingest.line import READ_BYTES
from strom.mqtt.connection import Connection
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint

_STEP_SECONDS = 0.5


def count_messages(
    endpoint: Endpoint, client_id: str, topic: str, inflight: int, counted: "Synchronized[int]"
) -> None:
    """What the child process does, until it is ended."""
    session = Session(client_id, receive_max=inflight)
    connection = Connection(endpoint, session, now=time.monotonic(), read_bytes=READ_BYTES)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, connection.events)
        while True:
            selector.modify(connection, connection.events)
            now = time.monotonic()
            if selector.select(_STEP_SECONDS) and _take(connection, topic, counted, now) < FEW:
                time.sleep(BREATH)
            connection.tick(now)


def _take(connection: Connection, topic: str, counted: "Synchronized[int]", now: float) -> int:
    """Counts what one read brings, and returns how many that was."""
    ids: list[int] = []
    found = 0
    for packet in connection.handle(now):
        if type(packet) is mqtt5.PublishPacket:
            found += 1
            if packet.packet_id:
                ids.append(packet.packet_id)
        elif isinstance(packet, mqtt5.ConnAckPacket):
            connection.subscribe([topic, f"{topic}/+"])
    connection.acknowledge(ids)
    connection.flush(now)
    counted.value += found
    return found
