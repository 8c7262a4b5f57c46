"""Closes Kafka consumers beside the requests, each in a thread of its own and within a bound.

The client library (librdkafka 2.16) sometimes never returns from closing: a fetch was still in flight, and its answer is
that the offset is out of range, which nobody is left to handle. Such a consumer is given up: it keeps its
threads, and the gateway goes on and ends without it.
"""

import asyncio
import logging
from collections.abc import Callable

from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import in_daemon_thread

LOG = logging.getLogger("strom.gateway")

CLOSE_SECONDS = 10.0  # to commit and to leave the group


class ConsumerCloser:
    def __init__(self, counters: Counters) -> None:
        self.seconds = CLOSE_SECONDS
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._under_way: set[asyncio.Task[bool]] = set()

    async def close(self, what: str, close: Callable[[], None]) -> bool:
        """Whether the consumer has closed in time; it is closed also if whoever waits for this is cancelled."""
        return await asyncio.shield(self._begin(what, close))

    def close_later(self, what: str, close: Callable[[], None]) -> None:
        """The same without waiting for it; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._begin, what, close)

    async def finish(self) -> None:
        """Until all of them are closed or given up."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    def _begin(self, what: str, close: Callable[[], None]) -> asyncio.Task[bool]:
        task = asyncio.create_task(self._close(what, close))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _close(self, what: str, close: Callable[[], None]) -> bool:
        closing = in_daemon_thread(close, "close")
        await asyncio.wait({closing}, timeout=self.seconds)
        if not closing.done():
            self._counters.consumers_given_up += 1
            LOG.error("%s has not closed within %.0f s and is given up", what, self.seconds)
            closing.add_done_callback(lambda done: _closed_late(what, done))
            return False
        if error := closing.exception():
            LOG.warning("%s has closed with an error: %s", what, error)
        return True


def _closed_late(what: str, closing: "asyncio.Future[None]") -> None:
    if not closing.cancelled():
        LOG.info("%s, given up before, has closed (%s)", what, closing.exception() or "without an error")
