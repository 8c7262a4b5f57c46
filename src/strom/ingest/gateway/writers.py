"""The processes that write for the gateway: one core cannot read large bodies as fast as Kafka takes what is in them.

They are started by the first large body and begin when they are ready; until then, and without them, the gateway's
own process does the work. One that dies is replaced.
"""

import asyncio
import heapq
import logging
import os
import socket
import sys
import time
from dataclasses import dataclass

from strom.ingest.gateway.answers import Answer, Headers, json_answer
from strom.ingest.gateway.bodies import read_messages
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.frames import SLOTS, Line, Result, Task, open_memory, slots_in
from strom.ingest.gateway.outcome import LATE, LOST, NotWritten, answer_all
from strom.settings import Settings

LOG = logging.getLogger("strom.gateway")

LARGE_BODY = 64 << 10  # bytes; some hundred messages
_AGAIN_SECONDS = 5.0  # between two starts
_GRACE_SECONDS = 10.0  # beyond what Kafka may take


class Writers:
    def __init__(self, settings: Settings, counters: Counters) -> None:
        # They let nobody in: what users there are is not their concern.
        self.environment = settings.model_copy(update={"users": {}}).child_environment()
        self.answer_seconds = settings.gateway.send_seconds + _GRACE_SECONDS
        self.slot_bytes = settings.gateway.max_body
        self._most = settings.gateway.writers
        self._counters = counters
        self._running: list[_Writer] = []
        self._starting: asyncio.Task[None] | None = None
        self._started_at = -_AGAIN_SECONDS

    def place_for(self, size: int) -> "Place | None":
        """A slot of the least busy, for a body that is worth the way; None if the caller should write it himself."""
        if not LARGE_BODY <= size <= self.slot_bytes or not self._most:
            return None
        now = time.monotonic()
        missing = self._most - len(self._running)
        if missing and self._starting is None and now >= self._started_at + _AGAIN_SECONDS:
            self._started_at = now
            self._starting = asyncio.create_task(self._start(missing))
        writer = min(self._running, key=lambda each: each.busy, default=None)
        return None if writer is None or writer.busy == SLOTS else writer.place()

    async def close(self) -> None:
        """When nothing is under way any more."""
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await asyncio.gather(*(each.close(self.answer_seconds) for each in [*self._running]))

    async def _start(self, count: int) -> None:
        try:
            found = await asyncio.gather(*(_Writer.start(self) for _ in range(count)))
            self._running += [each for each in found if each is not None]
            self._counters.writers = len(self._running)
        finally:
            self._starting = None

    def ended(self, writer: "_Writer") -> None:
        if writer in self._running:
            self._running.remove(writer)
            self._counters.writers = len(self._running)

    def count(self, result: Result) -> None:
        self._counters.written += result.written
        self._counters.not_written += result.not_written


@dataclass(slots=True)
class Place:
    """Memory for one body: filled by the caller and then written, or given back."""

    memory: memoryview
    writer: "_Writer"
    slot: int

    async def write(self, size: int, topic: str, partitions: int, user: str) -> Answer:
        return await self.writer.write(self, size, topic, partitions, user)

    def give_back(self) -> None:
        """Not written: the body did not come."""
        self.writer.free(self.slot)


class _Writer:
    """One of the processes."""

    def __init__(
        self, process: asyncio.subprocess.Process, line: Line, slots: list[memoryview], writers: Writers
    ) -> None:
        self._process = process
        self._line = line
        self._slots = slots
        self._writers = writers
        self._free = [*range(SLOTS)]  # the lowest is taken first: its memory is in use already
        self._asked: dict[int, tuple[int, asyncio.Future[Result | None]]] = {}  # slot and answer
        self._number = 0
        self._closing = False
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, writers: Writers) -> "_Writer | None":
        """None if it did not come up; its log tells why."""
        ours, theirs = socket.socketpair()
        memory = open_memory(writers.slot_bytes)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "strom.ingest.gateway.writer", str(memory)),
                stdin=theirs.fileno(),
                pass_fds=(memory,),
                env=writers.environment,
            )
            slots = slots_in(memory)
        finally:
            theirs.close()
            os.close(memory)
        ours.setblocking(False)
        line = await Line.over(ours)
        if await line.read_result() is None:
            LOG.error("a process that writes for the gateway did not start (%s)", await process.wait())
            line.close()
            return None
        return cls(process, line, slots, writers)

    @property
    def busy(self) -> int:
        return SLOTS - len(self._free)

    def place(self) -> Place:
        slot = heapq.heappop(self._free)
        return Place(self._slots[slot], self, slot)

    def free(self, slot: int) -> None:
        heapq.heappush(self._free, slot)

    async def write(self, place: Place, size: int, topic: str, partitions: int, user: str) -> Answer:
        """The slot is free again when the process has answered, whether or not anybody still waits for that."""
        self._number = number = self._number + 1
        answered: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = place.slot, answered
        self._line.send_task(Task(number, place.slot, size, partitions, topic, user))
        try:
            async with asyncio.timeout(self._writers.answer_seconds):
                result = await answered
        except TimeoutError:
            return _unknown(topic, place.memory[:size], LATE)
        if result is None:
            return _unknown(topic, place.memory[:size], LOST)
        retry: Headers = [(b"retry-after", b"%d" % result.retry_after)] if result.retry_after else []
        return json_answer(result.body, result.status, retry)

    async def close(self, seconds: float) -> None:
        self._closing = True
        self._line.close()
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._listening

    async def _listen(self) -> None:
        while (result := await self._line.read_result()) is not None:
            self._writers.count(result)
            slot, answered = self._asked.pop(result.number)
            self.free(slot)
            if not answered.done():
                answered.set_result(result)
        self._writers.ended(self)
        if not self._closing:
            LOG.error("a process that writes for the gateway has ended (%s)", await self._process.wait())
        for _, answered in self._asked.values():
            if not answered.done():
                answered.set_result(None)


def _unknown(topic: str, body: memoryview, outcome: NotWritten) -> Answer:
    """Nobody knows what became of any of them."""
    given = read_messages(body, topic)
    return answer_all(given.messages, [outcome] * len(given.messages), single=not given.is_array)
