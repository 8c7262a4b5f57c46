"""A box with troubles: what those who ask it get to see, and that it is well again afterwards."""

import ssl
from pathlib import Path

import httpx
import pytest

from strom.devices.box import Trouble, running_box
from strom.devices.box.troubles import parse_troubles
from strom.devices.sunspec import BASE
from strom.errors import StromError
from tests.devices.box.asking import read_answer, read_request, rest, wire
from tests.waiting import until


def test_a_slow_box_answers_late_but_right(tmp_path: Path) -> None:
    with running_box(tmp_path, troubles=[Trouble.SLOW], slow_seconds=0.6) as box:
        with rest(box) as client:
            with pytest.raises(httpx.ReadTimeout):
                client.get("/api/v1/measurement", timeout=0.2)
            assert client.get("/api/v1/measurement").content == box.last_payload()
        with wire(box.modbus_port) as connection:
            connection.sendall(read_request(1, BASE, 2))
            assert read_answer(connection) == (1, b"\x03\x04SunS")


def test_a_box_that_hangs_takes_the_question_and_never_answers(tmp_path: Path) -> None:
    with running_box(tmp_path, troubles=[Trouble.HANG]) as box:
        with rest(box) as client, wire(box.modbus_port) as connection:
            with pytest.raises(httpx.ReadTimeout):
                client.get("/api/v1/measurement", timeout=0.3)
            connection.settimeout(0.3)
            connection.sendall(read_request(1, BASE, 2))
            with pytest.raises(TimeoutError):
                connection.recv(1)
        until(lambda: box.box.connections.open == 0)
        box.have()
        with rest(box) as client:
            assert client.get("/api/v1/measurement").content == box.last_payload()


def test_a_box_that_sends_garbage_speaks_no_protocol(tmp_path: Path) -> None:
    with running_box(tmp_path, troubles=[Trouble.GARBAGE]) as box:
        with rest(box) as client, pytest.raises(httpx.RemoteProtocolError):
            client.get("/api/v1/measurement")
        with wire(box.modbus_port) as connection:
            connection.sendall(read_request(1, BASE, 2))
            assert connection.recv(4)[2:] != b"\x00\x00"


def test_a_box_that_cuts_off_closes_in_the_middle(tmp_path: Path) -> None:
    with running_box(tmp_path, troubles=[Trouble.CUT]) as box:
        with rest(box) as client, pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|without"):
            client.get("/api/v1/measurement")
        with wire(box.modbus_port) as connection:
            connection.sendall(read_request(1, BASE, 100))
            heard = b""
            while more := connection.recv(1024):
                heard += more
        assert 7 < len(heard) < 209


def test_an_expired_certificate_is_another_one_and_comes_and_goes(tmp_path: Path) -> None:
    with running_box(tmp_path, modbus=False) as box:
        good = box.fingerprint
        box.have(Trouble.EXPIRED)
        assert box.fingerprint != good
        with rest(box) as client, pytest.raises(httpx.ConnectError, match="certificate has expired"):
            client.get("/api/v1/measurement")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        url = f"https://{box.host}:{box.rest_port}/api/v1/measurement"
        told = httpx.get(
            url, headers={"Authorization": f"TOKEN {box.token}"}, verify=context, trust_env=False
        )
        assert told.content == box.last_payload()
        box.have()
        assert box.fingerprint == good
        with rest(box) as client:
            assert client.get("/api/v1/measurement").status_code == 200


def test_troubles_are_named_and_others_refused() -> None:
    assert parse_troubles(" slow,cut ") == (Trouble.SLOW, Trouble.CUT)
    assert parse_troubles(None) == ()
    with pytest.raises(StromError, match="'smoke' is no trouble"):
        parse_troubles("smoke")
