"""One line to one box: what is asked, when it is asked again, and what is never said to a stranger."""

import asyncio
import time
from pathlib import Path

import pytest

from strom.devices.box.certificate import Certificate
from strom.ingest.poll.asking import within
from strom.ingest.poll.http_answer import MAX_BODY
from strom.ingest.poll.https_line import HttpsLine
from strom.ingest.poll.trouble import Kind, Trouble
from strom.settings import AdapterSettings
from tests.ingest.poll.boxes import CUT, HANG, Box, Request, Respond, certificate_of, http, https_box, play


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate_of(tmp_path_factory.mktemp("certificate"))


async def asked(settings: AdapterSettings, *paths: str) -> list[tuple[int, bytes]]:
    """The answers to these requests on one line."""
    line = HttpsLine("keller", settings)
    try:
        found = [await within(settings.timeout_seconds, line.get(path)) for path in paths]
        return [(answer.status, answer.body) for answer in found]
    finally:
        line.close()
        await line.closed()


def ask(
    certificate: Certificate, respond: Respond, *paths: str, **more: object
) -> tuple[list[tuple[int, bytes]], Box]:
    async def scene() -> tuple[list[tuple[int, bytes]], Box]:
        async with https_box(respond, certificate.context()) as box:
            given = {"fingerprint": certificate.fingerprint, "token": "geheim"} | more
            return await asked(box.settings(**given), *paths), box

    return play(scene())


def trouble(certificate: Certificate, respond: Respond, *paths: str, **more: object) -> Trouble:
    with pytest.raises(Trouble) as found:
        ask(certificate, respond, *(paths or ("/",)), **more)
    return found.value


def test_requests_go_over_one_connection_with_the_token(certificate: Certificate) -> None:
    answers, box = ask(certificate, lambda request: http(request.path.encode()), "/a", "/b?c", "/d")
    assert answers == [(200, b"/a"), (200, b"/b?c"), (200, b"/d")]
    assert box.connections == 1
    assert {request.headers["authorization"] for request in box.requests} == {"TOKEN geheim"}
    assert box.requests[0].headers["host"] == f"127.0.0.1:{box.port}"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde" + CUT,
        b"HTTP/1.1 200 OK\r\n\r\nabcde" + CUT,
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nabcde" + CUT,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
    ],
    ids=["chunked", "close", "until the end", "http 1.0", "continue"],
)
def test_every_form_of_an_answer_is_read_twice_in_a_row(certificate: Certificate, answer: bytes) -> None:
    assert ask(certificate, lambda _: answer, "/1", "/2")[0] == [(200, b"abcde")] * 2


def test_a_connection_that_was_closed_meanwhile_is_made_anew(certificate: Certificate) -> None:
    answers, box = ask(certificate, lambda _: http() + CUT, "/1", "/2", "/3")
    assert (len(answers), box.connections, box.most_open) == (3, 3, 1)


def test_a_request_that_a_kept_connection_swallows_is_asked_again(certificate: Certificate) -> None:
    replies = iter([http(b"1"), CUT, http(b"2")])
    answers, box = ask(certificate, lambda _: next(replies), "/1", "/2")
    assert [body for _, body in answers] == [b"1", b"2"]
    assert box.connections == 2


def test_more_bytes_than_were_asked_for_are_not_the_next_answer(certificate: Certificate) -> None:
    numbers = iter(range(9))
    answers, box = ask(certificate, lambda _: http(b"%d" % next(numbers)) + http(b"stray"), "/", "/", "/")
    assert [body for _, body in answers] == [b"0", b"1", b"2"]
    assert box.connections == 3


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (CUT, Kind.CONNECTION, "closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc" + CUT, Kind.CONNECTION, "cut its answer short"),
        (b"HTTP/1.1 20" + CUT, Kind.CONNECTION, "cut its answer short"),
        (b"\x00\x01 nonsense \r\n\r\n", Kind.GARBAGE, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Kind.GARBAGE, "not HTTP"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Kind.GARBAGE, "not HTTP"),
        (http(b"x" * (MAX_BODY + 1)), Kind.GARBAGE, "longer than"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, Kind.GARBAGE, "longer than"),
    ],
)
def test_what_is_no_answer_is_told(certificate: Certificate, answer: bytes, kind: Kind, words: str) -> None:
    found = trouble(certificate, lambda _: answer)
    assert (found.kind, words in str(found)) == (kind, True), found


def test_a_box_that_hangs_runs_into_the_time_out_and_its_connection_is_given_up(
    certificate: Certificate,
) -> None:
    async def scene() -> Box:
        async with https_box(
            lambda request: HANG if request.path == "/hang" else http(), certificate.context()
        ) as box:
            settings = box.settings(fingerprint=certificate.fingerprint, timeout_seconds=0.2)
            line = HttpsLine("keller", settings)
            with pytest.raises(Trouble, match=r"no answer within 0\.2 s") as found:
                await within(0.2, line.get("/hang"))
            assert found.value.kind is Kind.TIMEOUT
            assert (await within(10, line.get("/"))).status == 200
            line.close()
            await line.closed()
            return box

    assert play(scene()).connections == 2


def test_a_box_that_accepts_and_never_speaks_runs_into_the_time_out() -> None:
    async def scene() -> None:
        async with https_box(lambda _: HANG, None) as box:  # no TLS: the greeting is never answered
            settings = box.settings(fingerprint="ab" * 32, timeout_seconds=0.2)
            with pytest.raises(Trouble) as found:
                await asked(settings, "/")
            assert found.value.kind is Kind.TIMEOUT

    play(scene())


def test_a_box_that_speaks_no_tls_is_told_as_garbage() -> None:
    async def scene() -> Trouble:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await reader.read()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(Trouble) as found:
                await asked(Box(port).settings(fingerprint="ab" * 32), "/")
            return found.value

    found = play(scene())
    assert (found.kind, "TLS" in str(found)) == (Kind.GARBAGE, True)


def test_a_box_that_is_not_there_is_told_as_a_connection() -> None:
    async def scene() -> None:
        async with https_box(lambda _: http(), None) as box:
            gone = box.settings(fingerprint="ab" * 32)
        with pytest.raises(Trouble, match="cannot be reached") as found:
            await asked(gone, "/")
        assert found.value.kind is Kind.CONNECTION

    play(scene())


def silent_box(
    certificate: Certificate, host: str = "127.0.0.1", **more: object
) -> tuple[Trouble, list[Request]]:
    """The trouble with a certificate, and what the box heard."""

    async def scene() -> tuple[Trouble, list[Request]]:
        async with https_box(lambda _: http(), certificate.context(), host) as box:
            with pytest.raises(Trouble) as found:
                await asked(box.settings(token="geheim", **more), "/")
            return found.value, box.requests

    return play(scene())


def test_a_changed_certificate_is_refused_before_the_token_is_sent(
    certificate: Certificate, tmp_path: Path
) -> None:
    other = certificate_of(tmp_path)
    found, heard = silent_box(other, fingerprint=certificate.fingerprint)
    assert (found.kind, heard) == (Kind.CERTIFICATE, [])
    assert "not the pinned one" in str(found)
    assert other.fingerprint.upper() in str(found).replace(":", "")


def test_without_a_pin_and_an_authority_nothing_is_sent_and_the_line_to_add_is_told(
    certificate: Certificate,
) -> None:
    found, heard = silent_box(certificate)
    assert (found.kind, heard) == (Kind.CERTIFICATE, [])
    told = str(found).split('fingerprint = "')[1].split('"')[0]
    assert told.replace(":", "").lower() == certificate.fingerprint
    assert "under [adapters.keller] in strom.toml" in str(found)


@pytest.mark.parametrize(
    "written", [str.lower, str.upper, lambda text: ":".join(text[n : n + 2] for n in range(0, 64, 2))]
)
def test_a_fingerprint_may_be_written_in_any_way(certificate: Certificate, written: object) -> None:
    assert callable(written)
    answers, _ = ask(certificate, lambda _: http(b"1"), "/", fingerprint=written(certificate.fingerprint))
    assert answers == [(200, b"1")]


def test_a_pinned_certificate_that_has_expired_is_spoken_to_and_its_date_is_known(tmp_path: Path) -> None:
    expired = certificate_of(tmp_path, expired=True)

    async def scene() -> int:
        async with https_box(lambda _: http(), expired.context()) as box:
            line = HttpsLine("keller", box.settings(fingerprint=expired.fingerprint))
            await line.get("/")
            line.close()
            await line.closed()
            return line.expires

    assert 0 < play(scene()) < time.time()


def test_an_authority_vouches_for_a_box(certificate: Certificate) -> None:
    answers, _ = ask(certificate, lambda _: http(b"1"), "/", fingerprint=None, ca_file=certificate.path)
    assert answers == [(200, b"1")]


@pytest.mark.parametrize(
    ("expired", "host", "words"),
    [(True, "127.0.0.1", "certificate has expired"), (False, "127.0.0.2", "IP address mismatch")],
)
def test_an_authority_does_not_vouch_for_an_expired_certificate_or_another_host(
    tmp_path: Path, expired: bool, host: str, words: str
) -> None:
    bad = certificate_of(tmp_path, expired=expired)
    found, heard = silent_box(bad, host, ca_file=bad.path)
    assert (found.kind, heard) == (Kind.CERTIFICATE, [])
    assert words in str(found)


def test_an_authority_does_not_vouch_for_a_stranger(certificate: Certificate, tmp_path: Path) -> None:
    found, heard = silent_box(certificate_of(tmp_path), ca_file=certificate.path)
    assert (found.kind, heard) == (Kind.CERTIFICATE, [])
