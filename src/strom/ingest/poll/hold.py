"""Pushes on their way from the poller to Kafka: held in memory, confirmed, and bounded.

A device keeps nothing for long, so asking goes on while Kafka is away; only when no more can be held it stops.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from strom.ingest.confirming import Confirming
from strom.ingest.counters import Counters
from strom.ingest.forward import Forwarder
from strom.ingest.gate import TopicGate
from strom.ingest.parcel import Headers, Record
from strom.ingest.poll.counters import Carried
from strom.settings import Settings
from strom.streams import topics

LOG = logging.getLogger("strom.poll")
COUNTERS_SECONDS = 60.0
AT_ONCE = 500  # handed over as one parcel
ROOMY = 0.5  # filled by no more than this, asking goes on again

_BUSY_PAUSE = 0.005  # while Kafka is about to confirm
_AWAY_PAUSE = 0.1
_IDLE_PAUSE = 0.5
_MEGABYTE = 1_000_000


class Hold:
    """`put` takes a push at any time; `carry` brings them over until it is cancelled."""

    def __init__(self, settings: Settings, counters: Carried, on_ready: Callable[[], None]) -> None:
        self.counters = counters
        self._settings = settings
        self._on_ready = on_ready
        self._sent = Counters()
        # The forwarder is the bridge's; at Kafka the poller has its own name.
        own = settings.bridge.model_copy(update={"client_id": settings.poll.client_id})
        self._forwarder = Forwarder(settings.model_copy(update={"bridge": own}), topics.RAW, self._sent, LOG)
        self._confirming = Confirming(self._forwarder, settings)
        self._gate = TopicGate(settings, LOG, counters.count_restart)
        self._queue: deque[Record] = deque()
        self._bytes = 0
        self._came = asyncio.Event()
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._announced = False
        self._report_at = time.monotonic() + COUNTERS_SECONDS

    @property
    def held(self) -> int:
        return len(self._queue) + self._forwarder.in_flight

    @property
    def _filled(self) -> float:
        """1 is full."""
        poll = self._settings.poll
        return max(self.held / poll.hold_messages, self._bytes / (poll.hold_mb * _MEGABYTE))

    def put(self, value: bytes, key: bytes, headers: Headers) -> None:
        self._queue.append((value, key, headers))
        self._bytes += len(value)
        self.counters.taken += 1
        self._came.set()
        if self._roomy.is_set() and self._filled >= 1:
            self._roomy.clear()
            self.counters.full += 1
            LOG.error("%d pushes are held and no more can be: asking stops until Kafka takes them", self.held)

    async def room(self) -> bool:
        """Returns when another push can be held, and whether that took a while."""
        if self._roomy.is_set():
            return False
        await self._roomy.wait()
        return True

    async def carry(self) -> None:
        self._gate.open()
        while True:
            self._step()
            if self._forwarder.in_flight or (self._queue and self._gate.is_open):
                await asyncio.sleep(_AWAY_PAUSE if self._confirming.away else _BUSY_PAUSE)
                continue
            self._came.clear()
            try:
                async with asyncio.timeout(_IDLE_PAUSE):
                    await self._came.wait()
            except TimeoutError:
                continue

    async def drain(self, seconds: float) -> None:
        """Bring over what is held, as far as that goes in this time; batches grow no more."""
        deadline = time.monotonic() + seconds
        while self.held and time.monotonic() < deadline:
            self._step(hurry=True)
            await asyncio.sleep(_BUSY_PAUSE)
        if self.held:
            LOG.error("Kafka has not confirmed %d pushes; they are lost", self.held)

    def close(self) -> None:
        self._gate.close()
        self._forwarder.close()

    def _step(self, *, hurry: bool = False) -> None:
        if self._gate.is_open:
            self._announce()
            self._hand_over()
        self._forwarder.poll(hurry=hurry)
        if self._forwarder.topic_missing:
            self._forwarder.topic_missing = False
            self._gate.open()
        self._look_around(time.monotonic())

    def _hand_over(self) -> None:
        while self._queue and not self._forwarder.full:
            together = [self._queue.popleft() for _ in range(min(len(self._queue), AT_ONCE))]
            self._bytes -= sum(len(value) for value, _, _ in together)
            self._forwarder.send(together, [], [])

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self._on_ready()

    def _look_around(self, now: float) -> None:
        counters = self.counters
        counters.forwarded, counters.refused = self._sent.forwarded, self._sent.refused
        counters.held = self.held
        if self._confirming.changed(now):
            if self._confirming.away:
                counters.away += 1
                LOG.warning("Kafka does not confirm; holding what comes, %d pushes so far", self.held)
            else:
                LOG.info("Kafka confirms again; %d pushes are held", self.held)
        if not self._roomy.is_set() and self._filled <= ROOMY:
            self._roomy.set()
            LOG.info("asking goes on")
        if now >= self._report_at:
            self._report_at = now + COUNTERS_SECONDS
            LOG.info("%s", counters)
