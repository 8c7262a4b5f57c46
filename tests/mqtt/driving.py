"""Drives connections the way their users do: one select loop."""

import selectors
import time
from collections.abc import Callable, Sequence

import mqtt5

from strom.mqtt.connection import Connection
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint, tls_context

SECONDS = 30.0


class Opener:
    """Opens connections and closes them all at the end of a test."""

    def __init__(self) -> None:
        self._opened: list[Connection] = []

    def __call__(self, endpoint: Endpoint, session: Session) -> Connection:
        connection = Connection(endpoint, session, now=time.monotonic(), context=tls_context(endpoint))
        self._opened.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._opened:
            connection.disconnect(time.monotonic())


def drive(
    connections: Sequence[Connection], until: Callable[[], bool], collect: list[mqtt5.Packet] | None = None
) -> list[mqtt5.Packet]:
    """Move bytes until the condition holds; returns every packet that came."""
    packets: list[mqtt5.Packet] = [] if collect is None else collect
    deadline = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while not until():
            assert time.monotonic() < deadline, "never came true"
            for connection in connections:
                selector.modify(connection, connection.events or selectors.EVENT_READ)
            for key, _ in selector.select(0.1):
                assert isinstance(key.fileobj, Connection)
                packets += key.fileobj.handle(time.monotonic())
    return packets


def connected(connection: Connection) -> Connection:
    drive([connection], lambda: connection.accepted)
    return connection
