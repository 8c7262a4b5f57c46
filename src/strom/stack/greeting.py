"""One MQTT CONNECT and its CONNACK on a fresh connection: the smallest request that proves a broker is up."""

import socket
import ssl
import struct

from strom.settings import Settings

SECONDS = 3.0
CONNECT, CONNACK = 0x10, 0x20
CLEAN_START, WITH_PASSWORD, WITH_USER = 0x02, 0x40, 0x80
REASONS = {0x86: "user name or password refused", 0x87: "not authorised", 0x84: "does not speak MQTT 5"}


def greet(settings: Settings) -> None:
    """Raise OSError with the reason unless the broker accepts us."""
    with socket.create_connection(settings.mqtt_address, timeout=SECONDS) as plain:
        connection = _secured(settings, plain)
        connection.sendall(_connect_packet(settings.mqtt.username, settings.mqtt.password))
        answer = connection.recv(256)
        connection.sendall(b"\xe0\x00")
    if len(answer) < 4 or answer[0] != CONNACK:
        raise OSError("the answer is not MQTT")
    if answer[3] != 0:
        raise OSError(REASONS.get(answer[3], f"refused with reason {answer[3]:#04x}"))


def _secured(settings: Settings, plain: socket.socket) -> socket.socket:
    if not settings.mqtt.tls:
        return plain
    context = ssl.create_default_context(cafile=settings.mqtt.ca_file)
    return context.wrap_socket(plain, server_hostname=settings.mqtt_address[0])


def _connect_packet(username: str | None, password: str | None) -> bytes:
    flags = (
        CLEAN_START
        | (WITH_USER if username is not None else 0)
        | (WITH_PASSWORD if password is not None else 0)
    )
    keep_alive, no_properties, client_id = 10, b"\x00", _text("")  # an empty id: the broker chooses one
    body = _text("MQTT") + struct.pack("!BBH", 5, flags, keep_alive) + no_properties + client_id
    body += b"".join(_text(word) for word in (username, password) if word is not None)
    return bytes([CONNECT]) + _length(len(body)) + body


def _text(word: str) -> bytes:
    data = word.encode()
    return struct.pack("!H", len(data)) + data


def _length(number: int) -> bytes:
    encoded = bytearray()
    while True:
        number, digit = divmod(number, 128)
        encoded.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(encoded)
