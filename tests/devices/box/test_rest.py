"""The REST interface of a box, asked over HTTPS by a client that knows nothing of Strom."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.devices.box import RunningBox, running_box
from strom.devices.box.http_head import BadRequestError, read_head
from strom.devices.box.rest import MEASUREMENT, STATUS
from strom.devices.simulator import FaultKind
from tests.devices.box.asking import SECONDS, is_closed, rest, wire


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBox]:
    with running_box(tmp_path_factory.mktemp("box"), modbus=False) as running:
        yield running


@contextmanager
def secure_wire(box: RunningBox) -> Iterator[ssl.SSLSocket]:
    """A bare TLS connection."""
    context = ssl.create_default_context(cafile=str(box.certificate_file))
    with wire(box.rest_port) as plain, context.wrap_socket(plain, server_hostname=box.host) as secure:
        yield secure


@pytest.mark.parametrize("path", MEASUREMENT)
def test_each_path_of_the_measurement_gives_the_last_push(box: RunningBox, path: str) -> None:
    with rest(box) as client:
        first, again = client.get(path), client.get(path)
        before = box.last_payload()
        box.push()
        later = client.get(f"{path}?t=1")
    assert first.status_code == again.status_code == later.status_code == 200
    assert first.headers["content-type"] == "application/json"
    assert first.content == again.content == before
    assert later.content == box.last_payload() != before
    assert json.loads(later.content)["name"] == "box"


@pytest.mark.parametrize("path", STATUS)
def test_each_path_of_the_status_counts_what_came_from_the_meter(box: RunningBox, path: str) -> None:
    with rest(box) as client:
        before = client.get(path).json()
        box.push()
        box.push()
        after = client.get(path).json()
    assert after["meter_valid_package_cnt"] == before["meter_valid_package_cnt"] + 2
    assert (after["sma_status"], after["meter_invalid_package_cnt"]) == ("OK", 0)
    assert {"supplier", "manufacturer", "interface", "name"} == set(after["meter"])
    assert after["wifi"]["rssi"] < 0
    assert after["fw_version"]


@pytest.mark.parametrize("path", [*MEASUREMENT, *STATUS, "/nothing"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "TOKEN wrong"}, {"Authorization": "TOKEN"}, {"Authorization": "Bearer {token}"}],
    ids=["missing", "wrong", "empty", "scheme"],
)
def test_without_the_token_nothing_is_told(box: RunningBox, path: str, headers: dict[str, str]) -> None:
    with rest(box) as client:
        del client.headers["Authorization"]
        answer = client.get(path, headers={k: v.format(token=box.token) for k, v in headers.items()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "TOKEN"
    assert box.last_payload() not in (None, answer.content)
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("DELETE", MEASUREMENT[0], 405),
        ("PUT", STATUS[0], 405),
        ("HEAD", STATUS[0], 200),
    ],
)
def test_other_paths_and_methods_are_refused(box: RunningBox, method: str, path: str, status: int) -> None:
    with rest(box) as client:
        answer = client.request(method, path)
    assert answer.status_code == status
    assert bool(answer.content) == (method != "HEAD")


def test_one_connection_serves_many_requests_also_in_one_segment(box: RunningBox) -> None:
    request = (
        f"GET /api/v1/measurement HTTP/1.1\r\nHost: box\r\nAuthorization: TOKEN {box.token}\r\n\r\n".encode()
    )
    last = request.replace(b"Host", b"Connection: close\r\nHost")
    with secure_wire(box) as secure:
        secure.sendall(request * 2 + last)
        heard = b""
        while more := secure.recv(65536):
            heard += more
    payload = box.last_payload()
    assert payload
    assert heard.count(b"HTTP/1.1 200 OK") == heard.count(payload) == 3
    assert heard.count(b"Connection: close") == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"431"),
    ],
    ids=["nonsense", "version", "body", "too long"],
)
def test_what_is_no_request_is_told_so_and_the_connection_closed(
    box: RunningBox, sent: bytes, status: bytes
) -> None:
    with secure_wire(box) as secure:
        secure.sendall(sent)
        heard = secure.recv(65536)
        assert heard.startswith(b"HTTP/1.1 " + status)
        assert is_closed(secure)


def test_a_meter_that_is_silent_for_a_minute_is_no_measurement(tmp_path: Path) -> None:
    with (
        running_box(tmp_path, modbus=False, faults=[FaultKind.SILENT]) as box,
        rest(box) as client,
    ):
        [fault] = box.box.adapter.faults
        box.clock.now_ms = fault.starts_ms - 1
        last = client.get(MEASUREMENT[0]).content
        box.clock.now_ms = fault.starts_ms + 50_000
        assert client.get(MEASUREMENT[0]).content == last
        box.clock.now_ms = fault.starts_ms + 61_000
        answer = client.get(MEASUREMENT[0])
        assert (answer.status_code, set(answer.json())) == (503, {"error"})
        counted = client.get(STATUS[0]).json()
        assert counted["sma_status"] == "NO DATA"
        box.clock.now_ms = fault.starts_ms + fault.length_ms + 5_000
        assert client.get(MEASUREMENT[0]).status_code == 200
        assert (
            client.get(STATUS[0]).json()["meter_valid_package_cnt"] == counted["meter_valid_package_cnt"] + 1
        )


def test_a_spoilt_push_is_told_as_it_was_sent_and_counted(tmp_path: Path) -> None:
    with (
        running_box(tmp_path, modbus=False, faults=[FaultKind.MALFORMED]) as box,
        rest(box) as client,
    ):
        spoilt = 0
        for _ in range(40):
            box.push()
            if box.box.adapter.spoils(box.clock.now_ms):
                spoilt += 1
                answer = client.get(MEASUREMENT[0])
                assert (answer.status_code, answer.content) == (200, box.last_payload())
        assert client.get(STATUS[0]).json()["meter_invalid_package_cnt"] == spoilt > 3


def test_token_and_certificate_are_the_same_after_a_restart(tmp_path: Path) -> None:
    with running_box(tmp_path, modbus=False) as first:
        known, token = first.fingerprint, first.token
    with running_box(tmp_path, modbus=False) as second:
        assert (second.fingerprint, second.token) == (known, token)
        shown = ssl.get_server_certificate((second.host, second.rest_port))
        assert shown.strip() in second.certificate_file.read_text()
        assert second.certificate_file.stat().st_mode & 0o077 == 0
        second.renew_certificate()
        with rest(second) as client:
            assert client.get(STATUS[0]).status_code == 200
        assert second.fingerprint != known
    with running_box(tmp_path / "other", modbus=False, token="my-token") as other:
        assert other.fingerprint != known
        with rest(other, "my-token") as client:
            assert client.get(STATUS[0]).status_code == 200


def test_who_does_not_know_the_certificate_does_not_talk_to_the_box(box: RunningBox) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://{box.host}:{box.rest_port}{STATUS[0]}", trust_env=False, timeout=SECONDS)


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda more: b"GET / HTTP/1.1\r\n" + more))
def test_whatever_is_sent_is_a_request_or_refused(head: bytes) -> None:
    with suppress(BadRequestError):
        assert read_head(head + b"\r\n\r\n").method
