"""Calls that do not come back: they are given up, and take no turn from others as long as they are few."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from strom.ingest.gateway.background import Background
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads, Stuck
from strom.ingest.gateway.shown_calls import ShownCalls
from strom.metrics import Metrics
from tests.waiting import PATIENCE

MOST = 2


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strom.ingest.gateway.daemon_threads.GRACE_SECONDS", 0.2)


def trying(scenario: Callable[[DaemonThreads, Counters, Event], Awaitable[None]]) -> None:
    """With threads for MOST calls; those that wait for the event are let go at the end."""
    over = Event()

    async def run() -> None:
        counters = Counters()
        try:
            await scenario(DaemonThreads(MOST, counters), counters, over)
        finally:
            over.set()

    asyncio.run(run())


async def hang(threads: DaemonThreads, over: Event) -> None:
    with pytest.raises(Stuck):
        await threads.run("a call", over.wait)


async def health(threads: DaemonThreads, counters: Counters) -> dict[str, Any]:
    """What the gateway says while Kafka answers and its background tasks work."""
    directory = cast(Any, SimpleNamespace(connected=True))
    shown = ShownCalls(Metrics(), counters, directory, Background(counters), [threads])
    found: dict[str, Any] = json.loads((await shown.health(cast(Any, None))).body)
    return found


async def until_none_hangs(counters: Counters) -> None:
    async with asyncio.timeout(PATIENCE):
        while counters.calls_given_up:
            await asyncio.sleep(0.01)


def test_calls_that_hang_take_no_turn_from_others() -> None:
    async def scenario(threads: DaemonThreads, counters: Counters, over: Event) -> None:
        for hanging in range(1, MOST + 1):
            assert (await health(threads, counters))["status"] == "ok"
            await hang(threads, over)
            assert (await health(threads, counters))["calls_given_up"] == hanging
            assert await threads.run("another", lambda: 7) == 7
        assert (await health(threads, counters))["status"] == "degraded"

    trying(scenario)


def test_when_as_many_hang_as_may_run_further_ones_keep_their_turn_until_they_come_back() -> None:
    async def scenario(threads: DaemonThreads, counters: Counters, over: Event) -> None:
        for _ in range(2 * MOST):
            await hang(threads, over)
        assert counters.calls_given_up == 2 * MOST
        with pytest.raises(Stuck):
            await threads.run("another", lambda: 7)
        over.set()
        await until_none_hangs(counters)
        assert not threads.is_exhausted
        # Each turn is there once, not twice: as many calls as before run at once, and no more.
        begun = [Event() for _ in range(MOST + 1)]
        again = Event()
        calls = [
            asyncio.create_task(threads.run("a call", lambda each=each: each.set() or again.wait(), PATIENCE))  # type: ignore[misc]
            for each in begun
        ]
        await asyncio.to_thread(begun[MOST - 1].wait, PATIENCE)
        assert [each.is_set() for each in begun] == [True] * MOST + [False]
        again.set()
        await asyncio.gather(*calls)

    trying(scenario)
