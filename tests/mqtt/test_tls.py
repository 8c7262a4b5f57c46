"""TLS to a real Mosquitto with a certificate authority made for the test."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import mqtt5
import pytest

from strom.mqtt.errors import MqttError
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint
from strom.stack.programs import find_mosquitto
from tests.mqtt.driving import Opener, connected, drive

pytestmark = [
    pytest.mark.stack,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command for certificates"),
]

CONFIG = """\
user root
listener {port} 127.0.0.1
allow_anonymous true
certfile {folder}/server.pem
keyfile {folder}/server.key
"""


@pytest.fixture
def opened() -> Iterator[Opener]:
    opener = Opener()
    yield opener
    opener.close()


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


@pytest.fixture
def secure(tmp_path: Path, free_port: int) -> Iterator[Endpoint]:
    """A Mosquitto that speaks only TLS; its certificate is its own authority."""
    _certificate(tmp_path)
    config = tmp_path / "mosquitto.conf"
    config.write_text(CONFIG.format(port=free_port, folder=tmp_path), encoding="utf-8")
    process = subprocess.Popen([find_mosquitto(), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        yield Endpoint("localhost", free_port, tls=True, ca_file=tmp_path / "server.pem")
    finally:
        process.terminate()
        process.wait(30)


def _certificate(folder: Path) -> None:
    key, certificate = str(folder / "server.key"), str(folder / "server.pem")
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run(
        [
            *request,
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )


def _await_listening(opened: Opener, endpoint: Endpoint) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            connected(opened(endpoint, Session("knock")))
            return
        except MqttError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_messages_pass_over_tls_in_both_directions(opened: Opener, secure: Endpoint) -> None:
    _await_listening(opened, secure)
    connection = connected(opened(secure, Session("tls")))
    connection.subscribe(["t"])
    large = bytes(900_000)
    connection.publish("t", large, qos=1)
    packets: list[mqtt5.Packet] = []
    drive([connection], lambda: any(isinstance(each, mqtt5.PublishPacket) for each in packets), packets)
    assert [each.payload for each in packets if isinstance(each, mqtt5.PublishPacket)] == [large]


def test_a_certificate_of_an_unknown_authority_is_refused(opened: Opener, secure: Endpoint) -> None:
    _await_listening(opened, secure)
    stranger = opened(Endpoint("localhost", secure.port, tls=True), Session("stranger"))
    with pytest.raises(MqttError, match=r"TLS with localhost:\d+ failed: self.signed certificate"):
        connected(stranger)
