"""A body has its time to come, and its bytes count from the first to the answer."""

import asyncio
from typing import Any

import pytest

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.intake import Intake
from strom.settings import GatewaySettings


class Line:
    """A caller who sends as the test says, and a clock in its hands."""

    def __init__(self) -> None:
        self.now = 0.0
        self.counters = Counters()
        self.intake = Intake(GatewaySettings(body_seconds=60), self.counters, lambda: self.now)
        self.parts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def call(self, length: int | None) -> Call:
        headers = [] if length is None else [(b"content-length", b"%d" % length)]
        return Call({"headers": headers}, self.parts.get, [b"produce"], self.intake)

    def send(self, body: bytes, *, more: bool) -> None:
        self.parts.put_nowait({"type": "http.request", "body": body, "more_body": more})


@pytest.mark.parametrize("into_memory", [False, True])
@pytest.mark.parametrize("began", [False, True])
def test_a_body_that_does_not_come_or_does_not_end_is_given_up(began: bool, into_memory: bool) -> None:
    async def run() -> Counters:
        line = Line()
        call = line.call(100)
        waiting = asyncio.create_task(
            call.body_into(memoryview(bytearray(100))) if into_memory else call.body()
        )
        if began:
            line.send(b"[", more=True)
        await asyncio.sleep(0)
        assert line.counters.held_bytes == 100
        line.now = 59.9
        line.intake.give_up_late_ones()
        await asyncio.sleep(0)
        assert not waiting.done()
        line.now = 60.0
        line.intake.give_up_late_ones()
        with pytest.raises(Problem, match=r"gateway\.body_seconds") as caught:
            await waiting
        assert (caught.value.status, waiting.cancelling()) == (408, 0)
        call.close()
        line.intake.give_up_late_ones()  # knows nothing of it any more
        return line.counters

    assert asyncio.run(run()).held_bytes == 0


def test_who_is_cancelled_for_another_reason_is_not_told_that_the_body_was_late() -> None:
    async def run() -> None:
        line = Line()
        waiting = asyncio.create_task(line.call(100).body())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())


def test_a_body_that_came_in_time_is_not_looked_for_later() -> None:
    async def run() -> bytes:
        line = Line()
        call = line.call(2)

        async def answer() -> bytes:
            body = await call.body()
            line.now = 1000.0
            line.intake.give_up_late_ones()
            await asyncio.sleep(0)  # where a cancellation would strike
            return body

        line.send(b"[]", more=False)
        return await asyncio.create_task(answer())

    assert asyncio.run(run()) == b"[]"


def test_a_body_that_does_not_say_how_large_it_is_counts_as_it_comes() -> None:
    async def run() -> list[int]:
        line = Line()
        call = line.call(None)
        waiting = asyncio.create_task(call.body())
        held = []
        for part, more in ((b"[", True), (b"1,2", True), (b"]", False)):
            line.send(part, more=more)
            await asyncio.sleep(0)
            held.append(line.counters.held_bytes)
        assert await waiting == b"[1,2]"
        call.close()
        return [*held, line.counters.held_bytes]

    assert asyncio.run(run()) == [1, 4, 5, 0]
