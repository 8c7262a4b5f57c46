"""Threads for calls of Kafka's client that block.

No request waits for such a call for longer than it says, and no call keeps the process from ending: `concurrent.futures`
would join its threads when Python exits, however long they take.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from strom.ingest.gateway.answers import RETRY_LATER, Problem

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
    """At most so many calls at once; further ones wait for their turn."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, what: str, work: Callable[[], Result], waiting: float = 0.0) -> Result:
        """What the work returns, or Stuck: it may wait for so many seconds, and take some more for the rest.

        If the caller is cancelled, the work goes on.
        """
        loop = asyncio.get_running_loop()
        seconds = waiting + GRACE_SECONDS
        until = loop.time() + seconds
        try:
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        except TimeoutError:
            raise Stuck(what, seconds) from None
        running = in_daemon_thread(work, "kafka")
        running.add_done_callback(self._ended)
        await asyncio.wait({running}, timeout=until - loop.time())
        if not running.done():
            LOG.error("%s has not come back within %.0f s; its thread is given up", what, seconds)
            raise Stuck(what, seconds)
        return running.result()

    def _ended(self, running: "asyncio.Future[Result]") -> None:
        self._free.release()
        if not running.cancelled():
            running.exception()  # whoever waited for it has seen it, or is gone


def in_daemon_thread(work: Callable[[], Result], name: str) -> "asyncio.Future[Result]":
    """Start the work in a thread of its own."""
    outcome: Future[Result] = Future()
    outcome.set_running_or_notify_cancel()  # from now on it cannot be cancelled

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # told to whoever waits
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(outcome)
