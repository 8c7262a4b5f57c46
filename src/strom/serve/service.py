"""The part behind the API: takes readings and alerts as they come and tells the open pages.

Everything here runs on the event loop, so nothing needs a lock; the two sources hand over to it. It knows no
HTTP.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from strom import __version__
from strom.errors import StromError
from strom.metrics import Metrics
from strom.serve import answers, days, models
from strom.serve.alerts import AlertBoard
from strom.serve.counters import Counters
from strom.serve.events import Hub
from strom.serve.follow import Batch, Follower
from strom.serve.lines import Clock, LineWatch
from strom.serve.live import LiveState
from strom.serve.records import ForeignRecords, live_reading
from strom.serve.tasks import SupervisedTask, Works, in_thread
from strom.settings import MeterRules, Settings
from strom.store.reads import Reads

LOG = logging.getLogger("strom.page")

FLEET_SECONDS = 1.0
TABLES_SECONDS = 2.0
TAIL_MS = 30_000  # a fleet event repeats the last points: readings that came late have changed them
MOST_ALERT_EVENTS = 1000  # of one look at the table; pages that hear of more ask for the list
_MASTER_ROUNDS = 15  # master data is read anew every so many rounds of the tables
_ROWS_AT_ONCE = 500
_HAND_OVER_SECONDS = 30
_STOP_SECONDS = 1


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
        self.alerts = AlertBoard()
        self.foreign = ForeignRecords()
        self.metrics = Metrics()
        self._counters = Counters()
        self.metrics.watch("page", self._counters, self._count)
        self._positions: dict[int, int] = {}
        self._odd_rows: set[str] = (
            set()
        )  # of readings_latest: read once, and no meter of that name came of it
        self.tasks = [
            SupervisedTask(name, work, clock, self._tell_health)
            for name, work in (
                ("readings", self._follow),
                ("fleet", self._tick),
                ("tables", self._follow_tables),
            )
        ]

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

    async def run(self) -> None:
        """Follow the sources until cancelled."""
        try:
            await asyncio.gather(*(task.run() for task in self.tasks))
        finally:
            self.reads.close()

    def take(self, batch: Batch) -> None:
        """Put readings into the live state and send them to the pages that show their meter."""
        events = []
        for reading in batch:
            try:
                new = self.state.take(reading)
            except Exception as error:  # one record must not keep the others from the page
                self.foreign.add(f"a record of {reading.meter!r:.100}", repr(error))
                continue
            if new and self.hub.wanted(reading.meter):
                state = self.state.meters[reading.meter]
                if state.latest is reading.body and state.is_live(self.now_ms):
                    events.append((reading.meter, answers.reading_event(state, self.now_ms)))
        self.hub.send_readings(events)

    def _take(self, batch: Batch, taken: Future[None]) -> None:
        try:
            self.take(batch)
            taken.set_result(None)
        except Exception as error:  # it is the follower's, which ends by it and is started anew
            taken.set_exception(error)

    def fleet(self) -> models.Fleet:
        return answers.fleet(self.state.fleet(self.now_ms), self.alerts.open_count)

    def fleet_event(self) -> dict[str, Any]:
        now = self.now_ms
        return self.fleet().model_dump(mode="json") | {
            "points": self.state.fleet_points(now - TAIL_MS, now),
        }

    def health(self) -> models.Health:
        lines = (self.kafka.line, self.postgres.line)
        tasks = [each.task for each in self.tasks]
        well = all(line.state == "connected" for line in lines) and all(
            task.state == "running" for task in tasks
        )
        return models.Health(
            status="ok" if well else "degraded",
            kafka=self.kafka.line,
            postgres=self.postgres.line,
            tasks=tasks,
            meters=len(self.state.meters),
            readings=self.state.readings,
            foreign_records=self.foreign.count,
            pages=len(self.hub.clients),
            version=__version__,
        )

    def _tell_health(self) -> None:
        self.hub.send("health", self.health().model_dump(mode="json"))

    def _tell_kafka(self, connected: bool, reason: str) -> None:
        if self.kafka.tell(connected, reason):
            LOG.info("Kafka answers" if connected else f"Kafka is away: {reason}")

    async def _follow(self, works: Works) -> None:
        loop = asyncio.get_running_loop()

        def post(call: Callable[..., None], *values: object) -> None:
            loop.call_soon_threadsafe(call, *values)

        def hand_over(batch: Batch) -> None:
            # Wait until the batch is taken, so that no backlog piles up in memory.
            taken: Future[None] = Future()
            post(self._take, batch, taken)
            taken.result(_HAND_OVER_SECONDS)

        follower = Follower(
            self._settings,
            self.foreign,
            take=hand_over,
            line=lambda connected, why: post(self._tell_kafka, connected, why),
            works=lambda: post(works),
            positions=self._positions,
        )
        await in_thread("follow-readings", follower.run, follower.stop, _STOP_SECONDS)

    async def _tick(self, works: Works) -> None:
        while True:
            await asyncio.sleep(FLEET_SECONDS)
            self.state.advance(self.now_ms)
            if self.hub.clients:
                self.hub.send("fleet", self.fleet_event())
            works()

    async def _follow_tables(self, works: Works) -> None:
        for rounds in itertools.count():
            try:
                if rounds % _MASTER_ROUNDS == 0 or self.postgres.line.state != "connected":
                    await self._read_meters()
                await self._read_alerts()
                self.postgres.tell(True)
            except StromError as error:
                if self.postgres.tell(False, str(error)):
                    LOG.info("%s", error)
            works()
            await asyncio.sleep(TABLES_SECONDS)

    async def _read_meters(self) -> None:
        rows = await asyncio.to_thread(self.reads.master_data)
        self.master = {row["meter"]: row for row in rows}
        known = [*self.state.meters, *self._odd_rows]
        rows_read = await asyncio.to_thread(self.reads.latest_readings, known)
        for number, (meter, text) in enumerate(rows_read):
            if number % _ROWS_AT_ONCE == 0:
                await asyncio.sleep(0)  # requests get their turn
            if meter in self.state.meters:
                continue
            try:
                self.state.take(live_reading(text.encode(), self.now_ms))
            except Exception as error:  # one row must not keep the others from the page
                self.foreign.add(f"the row of {meter!r:.100} in readings_latest", error)
            if meter not in self.state.meters:
                self._odd_rows.add(meter)

    async def _read_alerts(self) -> None:
        versions = await asyncio.to_thread(self.reads.alert_versions)
        wanted = self.alerts.to_read(versions)
        if not wanted:
            return
        rows = await asyncio.to_thread(self.reads.alerts_by_id, wanted)
        events = self.alerts.update(versions, wanted, rows)
        if len(events) > MOST_ALERT_EVENTS:
            self.hub.send("alerts", {"open": self.alerts.open_count, "changed": len(events)})
        else:
            self.hub.send_all("alert", events)

    def _count(self) -> None:
        counters = self._counters
        counters.readings = self.state.readings
        counters.foreign_records = self.foreign.count
        counters.restarts = sum(task.restarts for task in self.tasks)
        counters.meters = len(self.state.meters)
        counters.open_alerts = self.alerts.open_count
        counters.pages = len(self.hub.clients)
        counters.kafka_connected = self.kafka.line.state == "connected"
        counters.postgres_connected = self.postgres.line.state == "connected"
