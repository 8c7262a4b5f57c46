"""What the gateway does beside the requests: a task that fails is logged, shown as failing and begun again with back-off.

`/health` and `/metrics` show which ones fail at the moment. It does not know what the tasks do.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from strom.backoff import FIRST_SECONDS, LONGEST_SECONDS, Backoff
from strom.ingest.gateway.counters import Counters

LOG = logging.getLogger("strom.gateway")


class Job:
    """One kind of background work: says when it fails and when it succeeds again."""

    def __init__(self, name: str, counters: Counters, backoff: Backoff) -> None:
        self.name = name
        self.is_failing = False
        self._counters = counters
        self._backoff = backoff

    def failed(self, error: BaseException) -> float:
        """Seconds until it is to be tried again."""
        pause = self._backoff.next()
        LOG.error("%s: failed, tried again in %.1f s", self.name, pause, exc_info=error)
        self._counters.background_failures += 1
        self._counters.background_failing += not self.is_failing
        self.is_failing = True
        return pause

    def succeeded(self) -> None:
        if self.is_failing:
            LOG.info("%s: works again", self.name)
            self._counters.background_failing -= 1
            self.is_failing = False
            self._backoff.reset()


class Background:
    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._jobs: list[Job] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def failing(self) -> list[str]:
        """Names of the jobs that have failed and not succeeded since."""
        return [job.name for job in self._jobs if job.is_failing]

    def job(self, name: str, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> Job:
        job = Job(name, self._counters, Backoff(first, longest))
        self._jobs.append(job)
        return job

    def repeat(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work over and over, until `stop`; it makes its own pauses."""
        self._tasks.append(asyncio.create_task(_repeat(self.job(name), work)))

    def every(self, seconds: float, name: str, work: Callable[[], object]) -> None:
        """Do the work at this interval, until `stop`."""

        async def wait_and_work() -> None:
            await asyncio.sleep(seconds)
            work()

        self.repeat(name, wait_and_work)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _repeat(job: Job, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
        except Exception as error:  # whatever it is, the work must go on
            await asyncio.sleep(job.failed(error))
        else:
            job.succeeded()
