"""The processes that write for the gateway: one core cannot read large bodies as fast as Kafka takes what is in them.

They are started by the first large body and begin when they are ready; until then, and without them, the gateway's
own process does the work. One that dies or does not start is replaced, with back-off.
"""

import asyncio
import contextlib
import heapq
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from strom.ingest.gateway.answers import Answer, Headers, json_answer
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.bodies import read_messages
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.frames import SLOTS, Line, Result, Task, open_memory, slots_in
from strom.ingest.gateway.outcome import LATE, LOST, NotWritten, answer_all
from strom.ingest.gateway.producing import STOP_SECONDS
from strom.settings import Settings

LOG = logging.getLogger("strom.gateway")

LARGE_BODY = 64 << 10  # bytes; some hundred messages
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0  # before one that has ended is replaced
_START_SECONDS = 60.0
_GRACE_SECONDS = 10.0  # beyond what Kafka may take
_STOP_SECONDS = STOP_SECONDS + 2.0


class Writers:
    """`on_failure` is called when a message was not written: Kafka may be away."""

    def __init__(
        self,
        settings: Settings,
        counters: Counters,
        background: Background,
        on_failure: Callable[[], None],
    ) -> None:
        # They let nobody in: what users there are is not their concern.
        self.environment = settings.model_copy(update={"users": {}}).child_environment()
        self.answer_seconds = settings.gateway.send_seconds + _GRACE_SECONDS
        self.slot_bytes = settings.gateway.max_body
        self._most = settings.gateway.writers
        self._counters = counters
        self._keeping_up = background.job("writers", _FIRST_PAUSE, _LONGEST_PAUSE)
        self._on_failure = on_failure
        self._running: list[_Writer] = []
        self._starting: asyncio.Task[None] | None = None
        self._is_wanted = False  # there was a large body
        self._is_closing = False

    def slot_for(self, size: int) -> "Slot | None":
        """One of the least busy, for a body that is worth the way; None if the caller should write it himself."""
        if not LARGE_BODY <= size <= self.slot_bytes or not self._most:
            return None
        if not self._is_wanted:
            self._is_wanted = True
            self._starting = asyncio.create_task(self._start_missing())
        writer = min(self._running, key=lambda each: each.busy, default=None)
        return None if writer is None or writer.busy == SLOTS else writer.take_slot()

    async def close(self) -> None:
        """When nothing is under way any more."""
        self._is_closing = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await asyncio.gather(*(each.close(_STOP_SECONDS) for each in [*self._running]))

    def count(self, written: int, not_written: int) -> None:
        self._counters.written += written
        self._counters.not_written += not_written
        if not_written:
            self._on_failure()

    def forget(self, writer: "_Writer") -> None:
        self._running.remove(writer)
        self._counters.writers = len(self._running)

    def lost(self, why: Exception) -> None:
        """One has ended although nobody told it to."""
        pause = self._keeping_up.failed(why)
        if self._starting is None and not self._is_closing:
            self._starting = asyncio.create_task(self._start_missing(pause))

    async def _start_missing(self, pause: float = 0.0) -> None:
        try:
            while len(self._running) < self._most:
                await asyncio.sleep(pause)
                pause = await self._start(self._most - len(self._running))
            self._keeping_up.succeeded()
        finally:
            self._starting = None

    async def _start(self, count: int) -> float:
        """Seconds until those that are missing then are to be started."""
        started = await asyncio.gather(*(self._start_one() for _ in range(count)), return_exceptions=True)
        error = next(filter(None, started), None)
        return _FIRST_PAUSE if error is None else self._keeping_up.failed(error)

    async def _start_one(self) -> None:
        process, line, slots = await _begin(self.environment, self.slot_bytes)
        self._running.append(_Writer(process, line, slots, self))
        self._counters.writers = len(self._running)


@dataclass(slots=True)
class Slot:
    """Memory for one body: filled by the caller and then written, or given back."""

    memory: memoryview
    number: int
    _writer: "_Writer"

    @property
    def is_lost(self) -> bool:
        """Its process has ended: the memory is still there, but nobody to write what is in it."""
        return self._writer.has_ended

    async def write(self, size: int, topic: str, partitions: int, user: str) -> Answer:
        return await self._writer.write(self, size, topic, partitions, user)

    def give_back(self) -> None:
        """Not written: the body did not come."""
        self._writer.free(self.number)


class _Writer:
    """One of the processes."""

    def __init__(
        self, process: asyncio.subprocess.Process, line: Line, slots: list[memoryview], writers: Writers
    ) -> None:
        self.has_ended = False
        self._process = process
        self._line = line
        self._slots = slots
        self._writers = writers
        self._free = [*range(SLOTS)]  # the lowest is taken first: its memory is in use already
        self._asked: dict[int, tuple[int, asyncio.Future[Result | None]]] = {}  # slot and answer
        self._number = 0
        self._closing = False
        self._listening = asyncio.create_task(self._listen())

    @property
    def busy(self) -> int:
        return SLOTS - len(self._free)

    def take_slot(self) -> Slot:
        number = heapq.heappop(self._free)
        return Slot(self._slots[number], number, self)

    def free(self, slot: int) -> None:
        heapq.heappush(self._free, slot)

    async def write(self, slot: Slot, size: int, topic: str, partitions: int, user: str) -> Answer:
        """The slot is free again when the process has answered, whether or not anybody still waits for that."""
        self._number = number = self._number + 1
        answered: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = slot.number, answered
        self._line.send_task(Task(number, slot.number, size, partitions, topic, user))
        await asyncio.wait({answered}, timeout=self._writers.answer_seconds)  # which does not cancel it
        if not answered.done():
            answered.cancel()  # so that what is said later does not count again
            return self._unknown(topic, slot.memory[:size], LATE)
        result = answered.result()
        if result is None:
            return self._unknown(topic, slot.memory[:size], LOST)
        retry: Headers = [(b"retry-after", b"%d" % result.retry_after)] if result.retry_after else []
        return json_answer(result.body, result.status, retry)

    async def close(self, seconds: float) -> None:
        self._closing = True
        self._line.close()
        await _await_end(self._process, seconds)
        await self._listening

    async def _listen(self) -> None:
        error: Exception | None = None
        try:
            await self._take_results()
        except Exception as found:  # nobody understands the process any more
            error = found
        self.has_ended = True
        self._writers.forget(self)
        self._line.close()
        for _, answered in self._asked.values():
            if not answered.done():
                answered.set_result(None)
        if not self._closing:
            await _await_end(self._process, _STOP_SECONDS)  # which it does without the line
            ended = f"a process that writes for the gateway has ended ({self._process.returncode})"
            self._writers.lost(error or OSError(ended))

    async def _take_results(self) -> None:
        while (result := await self._line.read_result()) is not None:
            slot, answered = self._asked.pop(result.number)
            self.free(slot)
            if not answered.done():
                self._writers.count(result.written, result.not_written)
                answered.set_result(result)

    def _unknown(self, topic: str, body: memoryview, outcome: NotWritten) -> Answer:
        """Nobody knows what became of any of them; raises the Problem that says so."""
        given = read_messages(body, topic)
        self._writers.count(0, len(given.messages))
        return answer_all(given.messages, [outcome] * len(given.messages), single=not given.is_array)


async def _begin(
    environment: dict[str, str], slot_bytes: int
) -> tuple[asyncio.subprocess.Process, Line, list[memoryview]]:
    """A process that is ready; OSError or TimeoutError if there is none."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        near, far = socket.socketpair()
        ours.enter_context(near)
        theirs.enter_context(far)
        memory = theirs.enter_context(_closing(open_memory(slot_bytes)))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "strom.ingest.gateway.writer", str(memory)),
            stdin=far.fileno(),
            pass_fds=(memory,),
            env=environment,
        )
        try:
            slots = slots_in(memory)
            theirs.close()
            near.setblocking(False)
            line = await Line.over(near)
            ours.pop_all()  # the line closes it
            async with asyncio.timeout(_START_SECONDS):
                if await line.read_result() is None:
                    line.close()
                    raise OSError(f"it has ended ({await process.wait()}); the lines above may tell why")
        except BaseException:
            await _await_end(process, 0)
            raise
        return process, line, slots


async def _await_end(process: asyncio.subprocess.Process, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@contextlib.contextmanager
def _closing(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)
