"""What the gateway does beside the requests fails: the log says why, /health and /metrics say so, and it is begun again."""

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from strom.ingest.gateway.background import Background
from strom.ingest.gateway.counters import Counters
from strom.settings import Settings
from tests.ingest.gateway.calling import Caller, calling, gateway_settings, records_in
from tests.ingest.gateway.test_writers import await_writers, large, writers_of
from tests.waiting import until


def failing(caller: Caller) -> list[str]:
    found = caller.get("/health").json()
    assert (found["status"] == "degraded") == ("failing" in found)
    return list(found.get("failing", []))


def test_work_that_fails_is_told_and_begun_again_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    counters, done = Counters(), asyncio.Event()
    seen: list[tuple[list[str], int]] = []

    async def run() -> None:
        background = Background(counters)

        async def work() -> None:
            seen.append((background.failing, counters.background_failing))
            if len(seen) <= 2:
                raise ValueError(f"attempt {len(seen)}")
            if len(seen) == 4:
                done.set()
                await asyncio.Event().wait()

        background.repeat("the work", work)
        await done.wait()
        await background.stop()

    asyncio.run(run())
    assert seen == [([], 0), (["the work"], 1), (["the work"], 1), ([], 0)]
    assert counters.background_failures == 2
    assert caplog.text.count("the work: failed, tried again in ") == 2
    assert "ValueError: attempt 2" in caplog.text
    assert [each.levelname for each in caplog.records] == ["ERROR", "ERROR"]


@pytest.mark.stack
def test_a_task_that_fails_makes_the_gateway_degraded_until_it_works_again(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with calling(gateway_settings(stack, tmp_path), broken="users") as caller:
        assert failing(caller) == []
        (tmp_path / "users").touch()
        until(lambda: failing(caller) == ["users"])
        assert caller.metric("background_failing") == 1
        assert caller.metric("background_failures_total") >= 1
        caller.process.await_log("RuntimeError: broken by the test")
        assert caller.post(f"/produce/{topic}", {"value": "v"}).status_code == 200
        (tmp_path / "users").unlink()
        until(lambda: failing(caller) == [])
        assert caller.metric("background_failing") == 0
        caller.process.await_log("users: works again")
        assert caller.process.stop() == 0


@pytest.mark.stack
def test_a_message_is_answered_also_when_its_report_could_not_be_taken_for_a_while(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with (
        calling(gateway_settings(stack, tmp_path, send_seconds=60), broken="reports") as caller,
        ThreadPoolExecutor(1) as pool,
    ):
        (tmp_path / "reports").touch()
        sent = pool.submit(caller.as_user("anna").post, f"/produce/{topic}", {"value": "v"})
        until(lambda: "delivery reports" in failing(caller))
        assert not sent.done()
        (tmp_path / "reports").unlink()
        assert sent.result().status_code == 200
        until(lambda: failing(caller) == [])
    assert len(records_in(stack, topic)) == 1


@pytest.mark.stack
def test_a_writer_that_ends_is_told_and_replaced_without_another_large_body(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with calling(gateway_settings(stack, tmp_path, writers=1)) as caller:
        await_writers(caller, topic, 1)
        (victim,) = writers_of(caller)
        os.kill(victim, signal.SIGKILL)
        until(lambda: failing(caller) == ["writers"])
        caller.process.await_log("a process that writes for the gateway has ended (-9)")
        until(lambda: caller.metric("writers") == 1)
        until(lambda: failing(caller) == [])
        assert writers_of(caller) != [victim]
        assert caller.post(f"/produce/{topic}", large("after ")).status_code == 200


@pytest.mark.stack
def test_a_gateway_whose_writer_has_just_ended_can_be_stopped(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    with calling(gateway_settings(stack, tmp_path, writers=2)) as caller:
        await_writers(caller, topic, 2)
        os.kill(writers_of(caller)[0], signal.SIGKILL)
        until(lambda: failing(caller) == ["writers"])
        assert caller.process.stop() == 0
        with pytest.raises(httpx.TransportError):
            caller.get("/health")
