"""What the page does in the background: when it fails it is started anew, and /health tells."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strom.serve.models import Task
from strom.serve.service import Service
from strom.settings import Settings
from tests.serve.feeder import Feeder, reading
from tests.waiting import PATIENCE

pytestmark = pytest.mark.stack


async def seen(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


def running(service: Service, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        task = asyncio.create_task(service.run())
        try:
            await scenario()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


@pytest.mark.parametrize("name", ["readings", "fleet", "tables"])
def test_a_task_that_fails_is_started_anew_and_health_tells(
    name: str, stack: Settings, feeder: Feeder, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, meter = Service(stack), unique("flat")
    broken = {
        "readings": (service, "take"),
        "fleet": (service.state, "advance"),
        "tables": (service.reads, "alert_versions"),
    }[name]

    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    def task() -> Task:
        return next(each for each in service.health().tasks if each.name == name)

    async def scenario() -> None:
        await seen(lambda: service.health().status == "ok")
        with monkeypatch.context() as patch:
            patch.setattr(*broken, fail)
            await asyncio.to_thread(feeder.send, reading(meter, net_w=321))
            await seen(lambda: task().state == "failed")
            assert service.health().status == "degraded"
            assert "injected" in task().reason
            # It stays so while each new attempt fails.
            await seen(lambda: task().restarts >= 2)
            assert task().state == "failed"
        await seen(lambda: service.health().status == "ok")
        await seen(lambda: meter in service.state.meters)
        fleet = service.state.meters[meter].power(service.now_ms)
        assert fleet is not None
        assert fleet.net_w == 321

    running(service, scenario)


def test_a_record_that_the_live_state_cannot_take_does_not_keep_the_others_away(
    stack: Settings, feeder: Feeder, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, bad, good = Service(stack), unique("bad"), unique("good")
    take = service.state.take

    def take_some(each: Any) -> bool:
        if each.meter == bad:
            raise RuntimeError("injected")
        return take(each)

    async def scenario() -> None:
        monkeypatch.setattr(service.state, "take", take_some)
        await asyncio.to_thread(feeder.send, reading(bad), reading(good))
        await seen(lambda: good in service.state.meters)
        assert bad not in service.state.meters
        assert service.foreign.count >= 1
        await seen(lambda: service.health().status == "ok")

    running(service, scenario)
