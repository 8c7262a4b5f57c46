"""Closes Kafka consumers beside the requests, each within a bound (`strom.streams.closing` tells why it needs one)."""

import asyncio
import logging
from collections.abc import Callable

from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import count_while_hanging
from strom.streams import closing as clients

LOG = logging.getLogger("strom.gateway")


class ConsumerCloser:
    def __init__(self, counters: Counters) -> None:
        self.seconds = clients.CLOSE_SECONDS
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
        closing = clients.Closing(what, close, LOG)
        running = asyncio.wrap_future(closing.done)
        await asyncio.wait({running}, timeout=self.seconds)
        in_time = closing.outcome(self.seconds)
        if not in_time:
            self._counters.consumers_given_up += 1
            count_while_hanging(self._counters, running)
        return in_time
