"""Background work that fails is logged, counted and started again after a back-off: threads and tasks of any part."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable

from strom.backoff import Backoff
from strom.restart_record import RESTARTS

STABLE_SECONDS = 60.0  # work that went on for this long begins with the first pause again
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


def _nothing() -> None:
    return


class _Restarts:
    """The back-off of one piece of work."""

    def __init__(self, name: str, log: logging.Logger, on_restart: Callable[[], None]) -> None:
        self._name = name
        self._log = log
        self._on_restart = on_restart
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._started = 0.0

    def begin(self) -> None:
        self._started = time.monotonic()

    def failed(self, error: Exception) -> float:
        """Seconds to wait; called where the error is handled."""
        if time.monotonic() - self._started >= STABLE_SECONDS:
            self._backoff.reset()
        pause = self._backoff.next()
        self._on_restart()
        told = f"{type(error).__name__}: {error}"[:300]
        RESTARTS.add(self._name, told)
        self._log.exception("%s failed (%s); it is started again in %.1f s", self._name, told, pause)
        return pause


class SupervisedThread(threading.Thread):
    """A daemon thread that runs `work` until that returns, or `stopping` is set when it fails.

    `on_restart` is called in the thread for each failure, to count it.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        stopping: threading.Event,
        log: logging.Logger,
        on_restart: Callable[[], None] = _nothing,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._stop_event = stopping
        self._restarts = _Restarts(name, log, on_restart)

    def run(self) -> None:
        while True:
            self._restarts.begin()
            try:
                self._work()
                return
            except Exception as error:
                if self._stop_event.is_set() or self._stop_event.wait(self._restarts.failed(error)):
                    return


async def supervised(
    name: str,
    work: Callable[[], Awaitable[None]],
    log: logging.Logger,
    on_restart: Callable[[], None] = _nothing,
) -> None:
    """The same in a task: ends when `work` returns, or the task is cancelled."""
    restarts = _Restarts(name, log, on_restart)
    while True:
        restarts.begin()
        try:
            await work()
            return
        except Exception as error:
            pause = restarts.failed(error)
        await asyncio.sleep(pause)
