"""What requests bring: how many bytes of them may be held at once, and how long a body may take to come."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from strom.ingest.gateway.answers import Problem, overloaded
from strom.ingest.gateway.counters import Counters
from strom.settings import GatewaySettings


class Intake:
    """Bytes are held from the first of a request to its answer."""

    def __init__(
        self, settings: GatewaySettings, counters: Counters, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.largest = settings.max_body
        self._limit = max(settings.inflight_bytes, settings.max_body)
        self._seconds = settings.body_seconds
        self._counters = counters
        self._clock = clock
        self._awaited: dict[asyncio.Task[Any], float] = {}  # until when, the first first
        self._late: set[asyncio.Task[Any]] = set()

    def hold(self, size: int) -> None:
        if self._counters.held_bytes + size > self._limit:
            raise overloaded("The gateway holds as much as it may")
        self._counters.held_bytes += size

    def release(self, size: int) -> None:
        self._counters.held_bytes -= size

    def coming(self) -> "_Coming":
        """Around the wait for a body: Problem 408 if it takes too long."""
        return _Coming(self._awaited, self._late, self._clock() + self._seconds)

    def give_up_late_ones(self) -> None:
        """To be called now and then: nearly every body is there at once, and a timer for each would be dear."""
        now = self._clock()
        for task, until in [*self._awaited.items()]:
            if until > now:
                break
            self._late.add(task)
            task.cancel()


class _Coming:
    __slots__ = ("_awaited", "_late", "_task", "_until")

    def __init__(
        self, awaited: dict[asyncio.Task[Any], float], late: set[asyncio.Task[Any]], until: float
    ) -> None:
        self._awaited = awaited
        self._late = late
        self._until = until

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a body is awaited by a task
        self._task = task
        self._awaited[task] = self._until

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._awaited[self._task]
        if self._late and self._task in self._late:
            self._late.remove(self._task)
            self._task.uncancel()
            if kind is asyncio.CancelledError:
                raise Problem(
                    408, "The body did not come in time (gateway.body_seconds); send it again."
                ) from None
