"""Runs the stack and simulated meters together and counts what arrives where."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from strom.demo.summary import Summary
from strom.demo.taps import Taps
from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet, parse_kinds
from strom.devices.simulator.timeline import Timeline
from strom.errors import StromError
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.mark_tables import TABLES
from strom.store.reads import table_counts, taken_in

ARRIVAL_SECONDS = 300.0  # for what is still under way
STOPPED_SECONDS = 30.0  # the same, after somebody has stopped the demo
_LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Plan:
    """What the simulated meters do."""

    meters: int = 50
    interval_s: float = 5.0
    history_ms: int = 86_400_000
    history_interval_s: float = 60.0
    seconds: float | None = None  # of live time; None runs until stopped
    faults: str | None = "all"
    seed: int = 1


class Demo:
    """All of Strom on this machine; `run` returns the summary when the time is over or it is stopped."""

    def __init__(self, settings: Settings, plan: Plan, report: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._report = report
        self._stop = threading.Event()
        self._taps = Taps(settings, self.page_address)

    def stop(self) -> None:
        self._stop.set()

    @property
    def page_address(self) -> str:
        return f"http://{self._settings.page.host}:{self._settings.page.port}"

    def run(self, on_ready: Callable[[str], None], on_tick: Callable[[str], None]) -> Summary:
        with Stack(self._settings, report=self._report):
            self._taps.open()
            on_ready(self.page_address)
            began_ms = _now_ms()
            published = self._history(began_ms, on_tick)
            published += self._live(began_ms, published, on_tick)
            self._taps.close()
            return self._summary(published)

    def _history(self, began_ms: int, on_tick: Callable[[str], None]) -> int:
        """The past at once, and through to the tables, so that what follows is live from the first reading on."""
        if not self._plan.history_ms:
            return 0
        past = Timeline(
            interval_s=self._plan.interval_s,
            start_ms=began_ms - self._plan.history_ms,
            until_ms=began_ms,
            history_interval_s=self._plan.history_interval_s,
        )
        published = self._send(past, None, "history", 0, on_tick)
        self._await_arrival(published, "the history is coming through", on_tick)
        return published

    def _live(self, began_ms: int, before: int, on_tick: Callable[[str], None]) -> int:
        """From where the history ended, as the clock goes; latencies count."""
        present = Timeline(interval_s=self._plan.interval_s, start_ms=began_ms, live_s=self._plan.seconds)
        now_ms = _now_ms()
        self._taps.measure(since_ms=now_ms)
        published = 0 if self._stop.is_set() else self._send(present, now_ms, "live", before, on_tick)
        self._await_arrival(before + published, "waiting for what is under way", on_tick)
        return published

    def _send(
        self,
        timeline: Timeline,
        faults_from_ms: int | None,
        state: str,
        before: int,
        on_tick: Callable[[str], None],
    ) -> int:
        """Let the meters publish along the timeline; returns how much the broker confirmed."""
        publisher = self._publisher(timeline, faults_from_ms)
        with ThreadPoolExecutor(1, "demo-meters") as pool:
            sending = pool.submit(publisher.run, self._stop)
            while not sending.done():
                wait([sending], _LOOK_SECONDS)
                self._raise_failure()
                on_tick(self._line(state, before + publisher.progress.published))
            progress = sending.result()
        if progress.open and not self._stop.is_set():
            raise StromError(
                f"{progress.open:,} messages were never confirmed by the MQTT broker.", exit_code=1
            )
        return progress.published

    def _publisher(self, timeline: Timeline, faults_from_ms: int | None) -> Publisher:
        fleet = Fleet(
            self._plan.meters,
            seed=self._plan.seed,
            faults=() if faults_from_ms is None else parse_kinds(self._plan.faults),
            faults_from_ms=faults_from_ms or 0,
            topic=self._settings.mqtt.topic,
        )
        return Publisher(fleet, self._settings, timeline, on_trouble=self._report)

    def _await_arrival(self, published: int, state: str, on_tick: Callable[[str], None]) -> None:
        """What was published is on its way: wait until it is counted and in the tables, but not for ever."""
        began = time.monotonic()
        while not self._all_there(published):
            if time.monotonic() - began > (STOPPED_SECONDS if self._stop.is_set() else ARRIVAL_SECONDS):
                break
            self._raise_failure()
            on_tick(self._line(state, published))
            time.sleep(_LOOK_SECONDS)

    def _all_there(self, published: int) -> bool:
        topics = self._taps.topics
        if len(topics.readings) + len(topics.dead_letters) < published:
            return False
        stored = taken_in(self._settings.postgres_url, TABLES)
        return all(stored.get(raw, -1) >= offset for raw, offset in topics.last_reading_offsets().items())

    def _summary(self, published: int) -> Summary:
        topics, page = self._taps.topics, self._taps.page
        tables = table_counts(self._settings.postgres_url)
        return Summary(
            published=published,
            raw=topics.raw,
            readings=len(topics.readings),
            dead_letters=len(topics.dead_letters),
            quarter_hours=tables["load_profile"],
            alerts=tables["alerts"],
            readings_p50_ms=topics.latencies.quantile(0.5),
            readings_p99_ms=topics.latencies.quantile(0.99),
            page_p50_ms=page.latencies.quantile(0.5),
            page_p99_ms=page.latencies.quantile(0.99),
        )

    def _raise_failure(self) -> None:
        if self._taps.topics.failure is not None:
            self._stop.set()
            raise self._taps.topics.failure

    def _line(self, state: str, published: int) -> str:
        topics = self._taps.topics
        return (
            f"{state}: {published:,} published, {topics.raw:,} raw, {len(topics.readings):,} readings, "
            f"{len(topics.dead_letters):,} dead letters"
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
