"""Many adapters at once, each with a connection of its own: every message they had confirmed must be in Kafka."""

import time
from collections import Counter
from threading import Event

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from strom.bench.bridge.arrivals import QUIET_SECONDS, Arrivals, raw_counter
from strom.bench.bridge.carriers import Strom
from strom.bench.bridge.plan import Plan
from strom.bench.bridge.usage import usage
from strom.bench.notes import Notes
from strom.bench.report import Measure
from strom.demo.taps import Latencies, raw_ends
from strom.devices.adapter import Progress, Publisher
from strom.devices.adapter_line import Message
from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Timeline
from strom.errors import StromError
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.records import Records
from strom.streams.start import EARLIEST

TOPIC = "bench-adapters"
_CONNECT_SECONDS = 300.0
_TELL_SECONDS = 10.0


class ManyAdapters:
    def __init__(self, settings: Settings, plan: Plan, notes: Notes) -> None:
        mqtt = settings.mqtt.model_copy(update={"topic": TOPIC})
        self._settings = settings.model_copy(update={"mqtt": mqtt})
        self._plan = plan
        self._notes = notes
        self._published: Counter[int] = Counter()  # by id, as often as the broker has confirmed it
        self._latencies = Latencies()

    def measure(self) -> None:
        plan, notes = self._plan, self._notes
        notes.say(
            f"{plan.adapters:,} adapters, each sending every {plan.interval_s:g} s for {plan.seconds:g} s"
        )
        stamp_on_arrival(self._settings, topics.RAW)
        first = raw_ends(self._settings)
        with Strom().running(self._settings, TOPIC, 1) as bridge:
            clock = _Clock(plan, notes)
            self._publish(clock)
            self._await_arrival(first)
            peak_mb = usage(bridge.pid).peak_mb
        found = self._found(first)
        self._report(clock, found, peak_mb)

    def _publish(self, clock: "_Clock") -> None:
        fleet = Fleet(self._plan.adapters, topic=TOPIC)
        publisher = Publisher(
            fleet,
            self._settings,
            Timeline(interval_s=self._plan.interval_s),
            connections=self._plan.adapters,
            on_trouble=self._notes.say,
            on_confirmed=self._confirmed,
        )
        publisher.run(clock.stop, clock)
        self._latencies.since_ms = clock.since_ms

    def _confirmed(self, message: Message) -> None:
        self._published[hash((message.topic, message.payload))] += 1

    def _await_arrival(self, first: dict[int, int]) -> None:
        total = raw_counter(self._settings)
        with Arrivals(total) as arrivals:
            arrivals.await_count(self._published.total() - (total() - sum(first.values())), QUIET_SECONDS)

    def _found(self, first: dict[int, int]) -> Counter[int]:
        """What is in Kafka since then, by id."""
        found: Counter[int] = Counter()
        with Records(self._settings, [topics.RAW], start=EARLIEST, until_end=True) as records:
            for record in records:
                topic = record.header(topics.HEADER_TOPIC) or ""
                if record.offset >= first[record.partition] and topic.startswith(TOPIC):
                    found[hash((topic, record.value or b""))] += 1
                    self._latencies.note(record.header(topics.HEADER_PUBLISHED), record.at_ms or 0)
        return found

    def _report(self, clock: "_Clock", found: Counter[int], peak_mb: float) -> None:
        plan, notes = self._plan, self._notes
        published, lost = self._published.total(), (self._published - found).total()
        p50, p99 = self._latencies.quantile(0.5) or 0, self._latencies.quantile(0.99) or 0
        notes.figures |= {
            "adapters, published and confirmed": published,
            "adapters, lost": lost,
            "adapters, in Kafka more than once": (found - self._published).total(),
            "adapters, p50 from publish to Kafka, ms": p50,
            "adapters, p99 from publish to Kafka, ms": p99,
            "adapters, bridge's peak MB": round(peak_mb),
        }
        notes.add(
            Measure(
                "connected at once",
                clock.least / plan.adapters,
                f"of {plan.adapters:,} adapters, at the least",
                f"{clock.least:,} for {plan.seconds:g} s",
                at_least=1.0,
            )
        )
        notes.add(
            Measure(
                "their messages in Kafka",
                (published - lost) / max(published, 1),
                "of those confirmed to them",
                f"{published - lost:,} of {published:,}; p50 {p50} ms, p99 {p99} ms from publish to Kafka",
                at_least=1.0,
            )
        )


class _Clock:
    """Counts from when all adapters are connected; then for so long, and no adapter may be missing."""

    def __init__(self, plan: Plan, notes: Notes) -> None:
        self.stop = Event()
        self.least = 0
        self.since_ms: int | None = None
        self._plan = plan
        self._notes = notes
        self._began = self._told = time.monotonic()
        self._complete: float | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._complete is None:
            self._await_all(progress, now)
        elif not self.stop.is_set():
            self.least = min(self.least, progress.connected)
            if now - self._complete >= self._plan.seconds:
                self.stop.set()
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            self._notes.say(f"{progress.connected:,} connected, {progress.published:,} published")

    def _await_all(self, progress: Progress, now: float) -> None:
        if progress.connected == self._plan.adapters:
            self._complete, self.least = now, progress.connected
            self.since_ms = time.time_ns() // 1_000_000
        elif now - self._began > _CONNECT_SECONDS:
            raise StromError(
                f"only {progress.connected:,} of {self._plan.adapters:,} adapters could connect.", exit_code=1
            )


def stamp_on_arrival(settings: Settings, topic: str) -> None:
    """Records of the topic carry the time at which Kafka took them, not the time at which they were sent."""
    entry = ConfigEntry(
        "message.timestamp.type", "LogAppendTime", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    client = admin_client(settings)  # gone with it would be the answer
    for future in client.incremental_alter_configs([resource]).values():
        future.result()
