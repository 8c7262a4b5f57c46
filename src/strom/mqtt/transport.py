"""A non-blocking byte stream to the broker, plain or TLS; it knows nothing of MQTT packets."""

import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from strom.mqtt.errors import MqttError
from strom.settings import Settings


@dataclass(frozen=True)
class Endpoint:
    """Where the broker is and how to be let in."""

    host: str
    port: int
    username: str | None = None
    password: str | None = None
    tls: bool = False
    ca_file: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Endpoint":
        host, port = settings.mqtt_address
        mqtt = settings.mqtt
        return cls(host, port, mqtt.username, mqtt.password, mqtt.tls, mqtt.ca_file)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Transport:
    """Connects in the background; `advance` until `ready`, then `send` and `receive`."""

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext | None = None, attempt: int = 0) -> None:
        self._endpoint = endpoint
        self.ready = False
        self.wants_write = True  # a socket becomes writable when its connect has ended
        family, address = _address(endpoint, attempt)
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connected = False
        self._tls: ssl.SSLContext | None = context if endpoint.tls else None
        self._socket.connect_ex(address)  # how it ended shows in SO_ERROR once the socket is writable

    def fileno(self) -> int:
        return self._socket.fileno()

    def advance(self) -> None:
        """One step of connect and TLS handshake; raises MqttError when that failed."""
        if not self._connected:
            self._finish_connect()
        if isinstance(self._socket, ssl.SSLSocket):
            self._handshake(self._socket)
        else:
            self.ready, self.wants_write = True, False

    def receive(self, into: memoryview) -> int:
        """Bytes read into the buffer, 0 when there is nothing to read now."""
        try:
            count = self._socket.recv_into(into)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        except OSError as error:
            raise MqttError(f"the connection to {self._endpoint} broke: {_words(error)}") from None
        if count == 0:
            raise MqttError(f"{self._endpoint} closed the connection")
        return count

    def pending(self) -> bool:
        """Whether TLS has decrypted bytes that select cannot see."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """Bytes the socket took, 0 when it is full."""
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        except OSError as error:
            raise MqttError(f"the connection to {self._endpoint} broke: {_words(error)}") from None

    def close(self) -> None:
        self._socket.close()

    def _finish_connect(self) -> None:
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise MqttError(f"cannot connect to {self._endpoint}: {os.strerror(code)}")
        self._connected = True
        if self._tls is not None:
            self._socket = self._tls.wrap_socket(
                self._socket, server_hostname=self._endpoint.host, do_handshake_on_connect=False
            )

    def _handshake(self, secure: ssl.SSLSocket) -> None:
        try:
            secure.do_handshake()
            self.ready, self.wants_write = True, False
        except ssl.SSLWantReadError:
            self.wants_write = False
        except ssl.SSLWantWriteError:
            self.wants_write = True
        except OSError as error:
            raise MqttError(f"TLS with {self._endpoint} failed: {_words(error)}") from None


def tls_context(endpoint: Endpoint) -> ssl.SSLContext | None:
    """One context for all connections to this broker; None without TLS."""
    if not endpoint.tls:
        return None
    try:
        return ssl.create_default_context(cafile=str(endpoint.ca_file) if endpoint.ca_file else None)
    except OSError as error:
        raise MqttError(
            f"cannot read the certificate authority {endpoint.ca_file}: {_words(error)}"
        ) from None


def _address(endpoint: Endpoint, attempt: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Each attempt takes the next address of the host, IPv4 first: 'localhost' may have two."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise MqttError(f"cannot find the host {endpoint.host}: {_words(error)}") from None
    found.sort(key=lambda info: info[0] != socket.AF_INET)
    family, _, _, _, address = found[attempt % len(found)]
    return family, address


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return error.strerror or str(error)
