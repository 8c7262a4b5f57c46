"""A broker that says what a test tells it to, on a real socket."""

import select
import socket

import mqtt5

from strom.mqtt.transport import Endpoint

WELCOME = mqtt5.ConnAckPacket().write()


class Peer:
    """A listening socket that says to its client what a test tells it to."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint("127.0.0.1", self._listening.getsockname()[1])
        self._line: socket.socket | None = None

    def is_asked(self) -> bool:
        """Whether a client waits to be let in."""
        return bool(select.select([self._listening], [], [], 0)[0])

    def say(self, *packets: bytes) -> None:
        if self._line is None:
            self._line, _ = self._listening.accept()
        self._line.sendall(b"".join(packets))

    def hang_up(self) -> None:
        """Without a word; the next client may come."""
        if self._line is None:
            self._line, _ = self._listening.accept()
        self._line.close()
        self._line = None

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        self._listening.close()
