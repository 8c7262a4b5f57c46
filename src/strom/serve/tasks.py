"""Keeps what the page does in the background running: what ends by an error is logged and started anew.

It knows none of the tasks; each tells by `works` that it has done what it is for.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

from strom.backoff import Backoff
from strom.serve.lines import Clock
from strom.serve.models import Task, TaskState

LOG = logging.getLogger("strom.page")

Works = Callable[[], None]


class SupervisedTask:
    """One of them; `changed` is called when it fails and when it works again."""

    def __init__(
        self, name: str, work: Callable[[Works], Awaitable[None]], clock: Clock, changed: Works
    ) -> None:
        self.name = name
        self._work = work
        self._clock = clock
        self._changed = changed
        self._backoff = Backoff()
        self._state: TaskState = "running"
        self._since = self._now()
        self._reason = ""
        self.restarts = 0

    @property
    def task(self) -> Task:
        return Task(
            name=self.name, state=self._state, since=self._since, reason=self._reason, restarts=self.restarts
        )

    def works(self) -> None:
        if self._state == "failed":
            self._state, self._since, self._reason = "running", self._now(), ""
            self._backoff.reset()
            LOG.info("%s works again", self.name)
            self._changed()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._work(self.works)
                self._fail(RuntimeError("it ended"))
            except Exception as error:  # whatever it is, the page must go on
                self._fail(error)
            await asyncio.sleep(self._backoff.next())
            self.restarts += 1

    def _fail(self, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"[:200]
        # Where it fails again for the same reason, the first traceback says it all.
        LOG.error(
            "%s failed and is started anew: %s",
            self.name,
            reason,
            exc_info=error if reason != self._reason else None,
        )
        self._reason = reason
        if self._state == "running":
            self._state, self._since = "failed", self._now()
            self._changed()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


async def in_thread(name: str, run: Callable[[], None], stop: Callable[[], None], patience: float) -> None:
    """Run a blocking function in a thread of its own until it ends; raises what it raises.

    When this is cancelled, `stop` tells it to end. A thread that does not within `patience` seconds is left behind:
    it may be waiting for a server that is away, and the process need not wait with it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def body() -> None:
        failure: Exception | None = None
        try:
            run()
        except BaseException as error:
            failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, failure)

    thread = threading.Thread(target=body, name=name, daemon=True)
    thread.start()
    try:
        await ended
    finally:
        stop()
        await asyncio.to_thread(thread.join, patience)
