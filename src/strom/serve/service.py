"""The part behind the API: takes readings and alerts as they come and tells the open pages.

Everything here runs on the event loop, so nothing needs a lock; the two sources hand over to it. It knows no
HTTP.
"""

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from strom import __version__
from strom.errors import StromError
from strom.serve import answers, days, models
from strom.serve.events import Hub
from strom.serve.follow import Batch, Follower
from strom.serve.lines import Clock, LineWatch
from strom.serve.live import LiveState
from strom.settings import MeterRules, Settings
from strom.store.reads import Reads

LOG = logging.getLogger("strom.page")

FLEET_SECONDS = 1.0
TABLES_SECONDS = 2.0
TAIL_MS = 30_000  # a fleet event repeats the last points: readings that came late have changed them
MOST_ALERTS = 500
_FORGET_TICKS = 10
_MASTER_ROUNDS = 15  # master data is read anew every so many rounds of the tables
_HAND_OVER_SECONDS = 30
_STOP_SECONDS = 1

# What comes of a record that somebody else wrote.
_NOT_A_READING = (KeyError, ValueError, TypeError, AttributeError)


class Service:
    """Live state, alerts and the open pages; `clock` gives epoch seconds."""

    def __init__(self, settings: Settings, clock: Clock = time.time) -> None:
        self._clock = clock
        self._settings = settings
        self.zone = days.zone_of(settings.page.timezone)
        self._rules = MeterRules(settings)
        self.state = LiveState(self._silent_after)
        self.hub = Hub()
        self.reads = Reads(settings.postgres_url)
        self.kafka = LineWatch(clock, self._tell_health)
        self.postgres = LineWatch(clock, self._tell_health)
        self.master: dict[str, Mapping[str, Any]] = {}
        self.alerts: dict[str, models.Alert] = {}
        self.open_by_meter: Counter[str] = Counter()
        self._refused = 0

    @property
    def now_ms(self) -> int:
        return round(self._clock() * 1000)

    def limits(self, meter: str | None = None) -> dict[str, float]:
        """The limits of a meter, or of all, that the page shows or needs to tell who is silent."""
        named = {"voltage_low_v", "voltage_high_v", "silent_pushes", "silent_seconds"}
        rules = self._rules.common if meter is None else self._rules.of(meter)
        return rules.model_dump(include=named)

    def _silent_after(self, meter: str) -> tuple[int, int]:
        rules = self._rules.of(meter)
        return rules.silent_pushes, rules.silent_seconds

    @property
    def open_alerts(self) -> list[models.Alert]:
        return [alert for alert in self.alerts.values() if alert.ended is None]

    async def run(self) -> None:
        """Follow the sources until cancelled."""
        loop = asyncio.get_running_loop()
        follower = Follower(
            self._settings,
            take=lambda batch: _hand_over(loop, self, batch),
            line=lambda connected, why: _post(loop, lambda: self._tell_kafka(connected, why)),
        )
        follower.start()
        try:
            await asyncio.gather(self._tick(), self._follow_tables())
        finally:
            follower.stop()
            # It may be waiting for a broker that is away; the process need not wait with it.
            await asyncio.to_thread(follower.join, _STOP_SECONDS)
            self.reads.close()

    async def take(self, batch: Batch) -> None:
        """Put readings into the live state and send them to the pages that show their meter."""
        events = []
        for reading, published in batch:
            try:
                new = self.state.add(reading, published)
            except _NOT_A_READING as error:
                self._refuse(error)
                continue
            name = reading["meter"]
            state = self.state.meters[name]
            if new and state.reading is reading and self.hub.wanted(name) and state.is_live(self.now_ms):
                events.append((name, answers.reading_event(state, self.now_ms)))
        self.hub.send_readings(events)

    def fleet(self) -> models.Fleet:
        return answers.fleet(self.state.fleet(self.now_ms), sum(self.open_by_meter.values()))

    def fleet_event(self) -> dict[str, Any]:
        now = self.now_ms
        return self.fleet().model_dump(mode="json") | {
            "points": self.state.fleet_points(now - TAIL_MS, now),
        }

    def health(self) -> models.Health:
        lines = (self.kafka.line, self.postgres.line)
        return models.Health(
            status="ok" if all(line.state == "connected" for line in lines) else "degraded",
            kafka=self.kafka.line,
            postgres=self.postgres.line,
            meters=len(self.state.meters),
            readings=self.state.readings,
            pages=len(self.hub.clients),
            version=__version__,
        )

    def _tell_health(self) -> None:
        self.hub.send("health", self.health().model_dump(mode="json"))

    def _tell_kafka(self, connected: bool, reason: str) -> None:
        if self.kafka.tell(connected, reason):
            LOG.info("Kafka answers" if connected else f"Kafka is away: {reason}")

    async def _tick(self) -> None:
        for tick in itertools.count():
            await asyncio.sleep(FLEET_SECONDS)
            if tick % _FORGET_TICKS == 0:
                self.state.advance(self.now_ms)
            if self.hub.clients:
                self.hub.send("fleet", self.fleet_event())

    async def _follow_tables(self) -> None:
        rounds = 0
        while True:
            try:
                if rounds % _MASTER_ROUNDS == 0:
                    await self._read_meters()
                self._take_alerts(await asyncio.to_thread(self.reads.recent_alerts, MOST_ALERTS))
                rounds += 1
                self.postgres.tell(True)
            except StromError as error:
                rounds = 0
                if self.postgres.tell(False, str(error)):
                    LOG.info("%s", error)
            await asyncio.sleep(TABLES_SECONDS)

    async def _read_meters(self) -> None:
        rows = await asyncio.to_thread(self.reads.master_data)
        self.master = {row["meter"]: row for row in rows}
        for reading in await asyncio.to_thread(self.reads.latest_readings):
            try:
                if reading["meter"] not in self.state.meters:
                    self.state.add(reading)
            except _NOT_A_READING as error:
                self._refuse(error)

    def _take_alerts(self, rows: list[dict[str, Any]]) -> None:
        found = {row["id"]: answers.alert(row) for row in rows}
        changed = [alert for key, alert in found.items() if self.alerts.get(key) != alert]
        self.alerts = found
        self.open_by_meter = Counter(alert.meter for alert in self.open_alerts)
        for alert in changed:
            self.hub.send("alert", alert.model_dump(mode="json"))

    def _refuse(self, error: Exception) -> None:
        self._refused += 1
        if self._refused == 1:
            LOG.warning("a record of readings is not a reading (%r); it is passed over", error)


def _hand_over(loop: asyncio.AbstractEventLoop, service: Service, batch: Batch) -> None:
    """From the follower's thread: wait until the batch is taken, so that no backlog piles up in memory."""
    asyncio.run_coroutine_threadsafe(service.take(batch), loop).result(_HAND_OVER_SECONDS)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(call)
