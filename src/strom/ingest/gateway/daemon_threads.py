"""Threads for calls of Kafka's client that block.

No request waits for such a call for longer than it says, and no call keeps the process from ending.

A call that does not come back is given up. It keeps its thread and its consumer, but not its turn: others go on. So that
threads and consumers do not pile up for ever, this ends when as many calls hang as are allowed to run: from then on each
further one keeps its turn, `/health` says `degraded`, and only a restart helps, or calls that come back after all.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from strom.ingest.gateway.answers import RETRY_LATER, Problem
from strom.ingest.gateway.counters import Counters
from strom.streams.closing import in_daemon_thread

LOG = logging.getLogger("strom.gateway")
Result = TypeVar("Result")

GRACE_SECONDS = (
    15.0  # longer than the client's own timeouts, and beyond what a caller wants to wait for records
)


class Stuck(Problem):
    """The call has not come back in time; its thread and what it uses stay with it."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            503,
            f"Kafka's client has not finished {what} within {seconds:.0f} s; try again soon.",
            retry_after=RETRY_LATER,
        )


class DaemonThreads:
    """At most so many calls at once, and as many again that were given up; further ones wait for their turn."""

    def __init__(self, most: int, counters: Counters) -> None:
        self._free = asyncio.Semaphore(most)
        self._most = most
        self._counters = counters
        self._hanging = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether a further call that hangs takes a turn away for as long as it hangs."""
        return self._hanging >= self._most

    async def run(self, what: str, work: Callable[[], Result], waiting: float = 0.0) -> Result:
        """What the work returns, or Stuck: it may wait for so many seconds, and take some more for the rest.

        If the caller is cancelled, the work goes on, and keeps its turn.
        """
        loop = asyncio.get_running_loop()
        seconds = waiting + GRACE_SECONDS
        until = loop.time() + seconds
        try:
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        except TimeoutError:
            raise Stuck(what, seconds) from None
        running = asyncio.wrap_future(in_daemon_thread(work, "kafka"))
        running.add_done_callback(self._ended)
        await asyncio.wait({running}, timeout=until - loop.time())
        if not running.done():
            LOG.error("%s has not come back within %.0f s; its thread is given up", what, seconds)
            self._give_up(running)
            raise Stuck(what, seconds)
        return running.result()

    def _give_up(self, running: "asyncio.Future[Result]") -> None:
        count_while_hanging(self._counters, running)
        if self.is_exhausted:
            return
        self._hanging += 1
        self._free.release()
        running.remove_done_callback(self._ended)
        running.add_done_callback(self._came_back)

    def _came_back(self, running: "asyncio.Future[Result]") -> None:
        self._hanging -= 1
        _note_error(running)

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self._free.release()
        _note_error(running)


def count_while_hanging(counters: Counters, running: "asyncio.Future[Result]") -> None:
    """Of a call that was given up."""

    def back(_: object) -> None:
        counters.calls_given_up -= 1

    counters.calls_given_up += 1
    running.add_done_callback(back)


def _note_error(running: "asyncio.Future[Result]") -> None:
    """Whoever waited for it has seen it, or is gone."""
    if not running.cancelled():
        running.exception()
