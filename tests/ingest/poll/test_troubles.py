"""Each trouble of a box: a metric, one log line, and the next push as soon as it is over. On the simulated adapter."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from strom.devices.box import RunningBox, Trouble, running_box
from strom.ingest.poll.trouble import Kind
from strom.settings import AdapterSettings
from tests.ingest.poll.boxes import Request, certificate_of, http, https_box, play, until
from tests.ingest.poll.going import (
    ABOUT_SLOWNESS,
    ENTRY,
    Going,
    going,
    modbus,
    rest,
    told_of_all,
    told_of_troubles,
)

ENOUGH = 3  # polls in which a line would be repeated if it were


@pytest.fixture
def box(tmp_path: Path) -> Iterator[RunningBox]:
    with running_box(tmp_path, slow_seconds=0.2) as running:
        yield running


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    return told_of_troubles(caplog)


Ask = Callable[..., AdapterSettings]
WAYS = pytest.mark.parametrize("ask", [rest, modbus])


async def new_push(box: RunningBox, seen: Going) -> None:
    """The next push gets through."""
    before = len(seen.sent)
    box.push()
    await until(lambda: len(seen.sent) > before)


def through_trouble(
    box: RunningBox, adapter: AdapterSettings, kind: Kind, *troubles: Trouble
) -> Coroutine[Any, Any, Going]:
    """Works, has the trouble for a while, works again."""

    async def scene() -> Going:
        async with going(adapter) as seen:
            await until(lambda: seen.rounds.asked.up)
            box.have(*troubles)
            await until(lambda: seen.failures(kind) >= ENOUGH)
            assert seen.told["strom_poll_up"] == 0
            box.have()
            await new_push(box, seen)
            await until(lambda: seen.rounds.asked.up)
        return seen

    return scene()


@WAYS
@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        (Trouble.GARBAGE, Kind.GARBAGE, "its answer is not"),
        (Trouble.CUT, Kind.CONNECTION, "cut its answer short"),
        (Trouble.HANG, Kind.TIMEOUT, "no answer within 0.2 s"),
    ],
)
def test_a_box_in_trouble_is_told_once_and_heard_again(
    box: RunningBox, lines: Callable[[], list[str]], ask: Ask, trouble: Trouble, kind: Kind, words: str
) -> None:
    timeout = {"timeout_seconds": 0.2} if trouble is Trouble.HANG else {}
    seen = play(through_trouble(box, ask(box, **timeout), kind, trouble))
    assert len(seen.sent) == 2
    first, second = lines()
    assert (ENTRY in first, words in first) == (True, True), first
    assert "answers again, after" in second


@WAYS
def test_a_slow_box_is_waited_for_and_holds_up_no_other(
    tmp_path: Path, box: RunningBox, lines: Callable[[], list[str]], ask: Ask
) -> None:
    async def scene(other: RunningBox) -> None:
        box.have(Trouble.SLOW)
        async with going(ask(box)) as slow, going(ask(other)) as quick:
            await until(lambda: slow.rounds.asked.pushes == 1)
            polls = slow.rounds.asked.polls
            await until(lambda: quick.rounds.asked.polls >= ENOUGH * polls)
            assert slow.told["strom_poll_answer_seconds"] >= 0.2

    with running_box(tmp_path / "other", name="other") as other:
        play(scene(other))
    assert lines() == []


@WAYS
def test_a_box_slower_than_its_interval_is_told_once_and_the_times_left_out_are_counted(
    caplog: pytest.LogCaptureFixture, box: RunningBox, ask: Ask
) -> None:
    interval, told = 0.1, told_of_all(caplog)

    async def scene() -> None:
        async with going(ask(box), interval) as seen:
            await until(lambda: seen.rounds.asked.up)
            missed = seen.rounds.asked.missed
            box.have(Trouble.SLOW)
            await until(lambda: any(ABOUT_SLOWNESS[0] in line for line in told()))
            polls = seen.rounds.asked.polls
            await until(lambda: seen.rounds.asked.polls >= polls + ENOUGH)
            assert seen.told["strom_poll_missed_total"] >= missed + ENOUGH
            assert seen.told["strom_poll_up"] == 1
            box.have()
            await until(lambda: any(ABOUT_SLOWNESS[1] in line for line in told()))

    play(scene())
    first, second = told()
    told_how = (
        rf"{ENTRY}: is slow, its answers take [0-9.]+ s; its interval is 0.1 s, and pushes may be missed"
    )
    assert re.fullmatch(told_how, first), first
    assert second.startswith(f"{ENTRY}: answers within its interval again, after")


def test_a_slow_box_to_try_the_poller_with_is_slow_and_not_silent(tmp_path: Path) -> None:
    """By the settings as they are, and by those that `strom adapter` prints for it."""
    usual = AdapterSettings(by="rest", address="h")
    with running_box(tmp_path) as box:
        printed = box.box.pushes.rhythm.step_ms / 2000
        assert max(usual.interval_seconds, printed) < box.box.troubles.slow_seconds < usual.timeout_seconds


def test_a_wrong_token_is_told_once_and_the_right_one_is_taken_without_a_restart(
    tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    certificate = certificate_of(tmp_path)
    right = ["anders"]

    def respond(request: Request) -> bytes:
        return http(b'{"n":1}') if request.headers["authorization"] == f"TOKEN {right[0]}" else http(b"", 401)

    async def scene() -> None:
        async with https_box(respond, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint, token="geheim")
            async with going(adapter) as seen:
                await until(lambda: seen.failures(Kind.TOKEN) >= ENOUGH)
                right[0] = "geheim"
                await until(lambda: seen.sent == [b'{"n":1}'])
                assert server.connections == 1

    play(scene())
    first, second = lines()
    assert (
        "does not take the token (401 Unauthorized); set the one of its web page under [adapters.keller]"
        in first
    )
    assert "geheim" not in first
    assert "answers again" in second


def test_the_real_box_refuses_a_wrong_token(box: RunningBox, lines: Callable[[], list[str]]) -> None:
    async def scene() -> None:
        async with going(rest(box, token="falsch")) as seen:
            await until(lambda: seen.failures(Kind.TOKEN) >= ENOUGH)
            assert seen.sent == []

    play(scene())
    assert len(lines()) == 1


def test_a_pinned_certificate_that_has_expired_is_told_once_and_costs_no_push(
    box: RunningBox, lines: Callable[[], list[str]]
) -> None:
    async def scene() -> None:
        box.have(Trouble.EXPIRED)
        async with going(rest(box)) as seen:
            for _ in range(ENOUGH):
                await new_push(box, seen)
            assert seen.told["strom_poll_up"] == 1
            assert seen.told["strom_poll_certificate_expires_seconds"] > 0
            assert seen.failures(Kind.CERTIFICATE) == 0

    play(scene())
    [line] = lines()
    assert "its certificate has expired on" in line


def test_an_expired_certificate_of_an_authority_is_refused_and_heard_again_when_renewed(
    box: RunningBox, lines: Callable[[], list[str]]
) -> None:
    async def scene() -> None:
        box.have(Trouble.EXPIRED)
        expired = box.certificate_file
        async with going(rest(box, fingerprint=None, ca_file=expired)) as seen:
            await until(lambda: seen.failures(Kind.CERTIFICATE) >= ENOUGH)
            assert (seen.sent, box.box.rest.answers) == ([], 0)
        box.have()
        async with going(rest(box, fingerprint=None, ca_file=box.certificate_file)) as seen:
            await new_push(box, seen)

    play(scene())
    assert ["certificate has expired" in line for line in lines()] == [True]


def test_a_changed_certificate_is_told_once_and_the_box_hears_nothing(
    box: RunningBox, lines: Callable[[], list[str]]
) -> None:
    async def scene() -> None:
        adapter = rest(box)
        box.renew_certificate()
        async with going(adapter) as seen:
            await until(lambda: seen.failures(Kind.CERTIFICATE) >= ENOUGH)
            assert (seen.sent, box.box.rest.answers) == ([], 0)

    play(scene())
    [line] = lines()
    assert box.fingerprint.upper() in line.replace(":", "")


def test_a_connection_that_has_died_in_silence_is_given_up_and_the_next_push_gets_through(
    tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    certificate = certificate_of(tmp_path)
    heard = [0]

    async def respond(request: Request) -> bytes:
        heard[0] += 1
        if heard[0] == 2:  # the far end of this connection is gone; nobody says so
            await asyncio.Event().wait()
        return http(b'{"n":%d}' % heard[0])

    async def scene() -> None:
        async with https_box(respond, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint, timeout_seconds=0.2)
            async with going(adapter) as seen:
                await until(lambda: len(seen.sent) > ENOUGH)
                assert (seen.failures(Kind.TIMEOUT), server.connections) == (1, 2)

    play(scene())
    assert [
        words for line in lines() for words in ("no answer within", "answers again") if words in line
    ] == [
        "no answer within",
        "answers again",
    ]


def test_a_box_with_all_its_connections_taken_is_told_and_heard_when_one_is_free(
    box: RunningBox, lines: Callable[[], list[str]]
) -> None:
    async def scene() -> None:
        guests = [await asyncio.open_connection(box.host, box.modbus_port) for _ in range(3)]
        await until(lambda: box.box.connections.open == 3)
        async with going(rest(box)) as seen:
            await until(lambda: seen.failures(Kind.CONNECTION) >= ENOUGH)
            for _, writer in guests:
                writer.close()
                await writer.wait_closed()
            await until(lambda: len(seen.sent) == 1)

    play(scene())
    assert len(lines()) == 2


def test_what_is_not_json_is_sent_as_it_came_and_told_once(
    tmp_path: Path, lines: Callable[[], list[str]]
) -> None:
    certificate = certificate_of(tmp_path)
    answers = [b"\xff\xfe", b"[1]", b'{"n":1}']
    asked = [0]

    def respond(request: Request) -> bytes:
        asked[0] += 1
        return http(answers[min(asked[0] // 3, 2)])  # each one several times

    async def scene() -> None:
        async with (
            https_box(respond, certificate.context()) as server,
            going(server.settings(fingerprint=certificate.fingerprint)) as seen,
        ):
            await until(lambda: len(seen.sent) == 3)
            await until(lambda: seen.rounds.asked.up)
            assert seen.sent == answers
            assert seen.failures(Kind.GARBAGE) >= 2

    play(scene())
    first, second = lines()
    assert "its answer is not a JSON object; it is kept as it came" in first
    assert "answers again" in second


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_page_that_says_no_is_no_push(tmp_path: Path, lines: Callable[[], list[str]], status: int) -> None:
    certificate = certificate_of(tmp_path)

    async def scene() -> None:
        async with (
            https_box(lambda _: http(b"<html>", status), certificate.context()) as server,
            going(server.settings(fingerprint=certificate.fingerprint)) as seen,
        ):
            await until(lambda: seen.failures(Kind.HTTP) >= ENOUGH)
            assert seen.sent == []

    play(scene())
    [line] = lines()
    assert f"answers {status}" in line
