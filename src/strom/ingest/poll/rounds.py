"""One adapter's rounds: asked at its interval, later when it fails, never while an answer is under way.

It knows neither how the adapter is asked nor what becomes of a push.
"""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from strom.backoff import Backoff
from strom.ingest.poll.asking import Asking
from strom.ingest.poll.complaints import LOG, Complaints
from strom.ingest.poll.counters import Asked, Failed
from strom.ingest.poll.repeats import Repeats
from strom.ingest.poll.status import StatusMetrics
from strom.ingest.poll.times import Times, left_out, longest_pause, next_time
from strom.ingest.poll.trouble import Kind, Trouble
from strom.metrics import Metrics

Answer = TypeVar("Answer")


class Rounds:
    """`run` in a task of its own, until that is cancelled."""

    def __init__(
        self,
        entry: str,
        asking: Asking,
        times: Times,
        metrics: Metrics,
        deliver: Callable[[bytes], None],
        room: Callable[[], Awaitable[bool]],
    ) -> None:
        self.asked = Asked()
        self._entry = entry
        self._asking = asking
        self._times = times
        self._metrics = metrics
        self._deliver = deliver
        self._room = room
        self._repeats = Repeats()
        self._readable = True  # the last push
        self._complaints = Complaints(entry)
        self._about_status = Complaints(f"{entry}, its status")
        self._status = StatusMetrics(entry, metrics)
        self._status_at = 0.0 if times.status_seconds else math.inf
        self._failed: dict[Kind, Failed] = {}
        self._backoff: Backoff | None = None  # while it fails
        self._expiry_told = 0
        metrics.watch("poll", self.asked, adapter=entry)

    async def run(self, first: float, phase: float) -> None:
        """Ask first after so many seconds, then at the times of its interval that begin with `phase`."""
        loop = asyncio.get_running_loop()
        anchor, due = loop.time() + phase, loop.time() + first
        try:
            while True:
                await asyncio.sleep(max(0.0, due - loop.time()))
                if await self._room():  # it took a while, for all alike: they must not ask all at once now
                    due = next_time(anchor, self._times.interval, loop.time())
                    continue
                if await self._poll():
                    await self._look_at_status()
                self.asked.missed += left_out(self._times.interval, due, loop.time())
                if self._backoff is not None:
                    due = loop.time() + self._backoff.next()
                else:
                    due = next_time(anchor, self._times.interval, max(due, loop.time()))
        finally:
            await self._asking.close()

    async def _poll(self) -> bool:
        self.asked.polls += 1
        started = time.monotonic()
        try:
            payload = await self._guarded(self._asking.ask())
        except Trouble as trouble:
            self._fail(trouble)
            self._backoff = self._backoff or Backoff()
            self._backoff.longest = longest_pause(trouble.kind, self._times.interval)
            return False
        self._backoff = None
        now = time.monotonic()
        self.asked.answer_seconds = now - started
        self._complaints.answered(now - started, self._times.interval, now)
        if self._repeats.is_new(payload, now):
            self.asked.pushes += 1
            self._deliver(payload)
            self._readable = _is_object(payload)
        else:
            self.asked.repeats += 1
        if not self._readable:  # no reason to ask less often: the next push may be a good one
            self._fail(Trouble(Kind.GARBAGE, "its answer is not a JSON object; it is kept as it came"))
            return False
        self._succeed()
        return True

    async def _guarded(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except Trouble:
            raise
        except Exception as error:
            # A fault of ours with one adapter must not keep the others from being asked.
            LOG.debug("%s: asking failed", self._entry, exc_info=True)
            raise Trouble(Kind.GARBAGE, f"asking it failed: {type(error).__name__}: {error}") from error

    def _succeed(self) -> None:
        asked = self.asked
        asked.up, asked.last_success_seconds = 1, time.time()
        self._complaints.succeeded()
        expires = asked.certificate_expires_seconds = self._asking.expires
        if expires and expires < asked.last_success_seconds and expires != self._expiry_told:
            self._expiry_told = expires
            day = time.strftime("%Y-%m-%d", time.gmtime(expires))
            self._complaints.remark(f"its certificate has expired on {day}; asking goes on")

    def _fail(self, trouble: Trouble) -> None:
        self.asked.up = 0
        failed = self._failed.get(trouble.kind)
        if failed is None:
            failed = self._failed[trouble.kind] = Failed()
            self._metrics.watch("poll", failed, adapter=self._entry, kind=trouble.kind)
        failed.failures += 1
        self._complaints.failed(trouble.kind, str(trouble), time.monotonic())

    async def _look_at_status(self) -> None:
        """Beside the measurement and on its connection; a failure is counted and changes nothing else."""
        now = time.monotonic()
        if now < self._status_at:
            return
        self._status_at = now + self._times.status_seconds
        try:
            status = await self._guarded(self._asking.ask_status())
        except Trouble as trouble:
            self.asked.status_failures += 1
            self._about_status.failed(trouble.kind, str(trouble), now)
            return
        self._about_status.succeeded()
        if status is not None:
            self._status.take(status)


def _is_object(payload: bytes) -> bool:
    try:
        return isinstance(json.loads(payload), dict)
    except (ValueError, RecursionError):
        return False
