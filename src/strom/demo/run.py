"""Runs the stack and simulated meters together and counts what arrives where."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from strom.demo.summary import Summary
from strom.demo.taps import PageTap, TopicTap
from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet, parse_kinds
from strom.devices.simulator.timeline import Timeline
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.reads import table_counts, taken_in

ARRIVAL_SECONDS = 180.0  # for what is still under way at the end
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

    def stop(self) -> None:
        self._stop.set()

    @property
    def page_address(self) -> str:
        return f"http://{self._settings.page.host}:{self._settings.page.port}"

    def run(self, on_ready: Callable[[str], None], on_tick: Callable[[str], None]) -> Summary:
        with Stack(self._settings, report=self._report):
            topics, page = TopicTap(self._settings), PageTap(self.page_address)
            topics.open()
            page.open()
            publisher = self._publisher()
            sender = threading.Thread(
                target=publisher.run, args=(self._stop,), name="demo-meters", daemon=True
            )
            sender.start()
            on_ready(self.page_address)
            self._follow(publisher, sender, topics, page, on_tick)
            sender.join()
            self._await_arrival(publisher, topics, on_tick)
            page.close()
            topics.close()
            return self._summary(publisher, topics, page)

    def _publisher(self) -> Publisher:
        now_ms = time.time_ns() // 1_000_000
        plan = self._plan
        fleet = Fleet(
            plan.meters,
            seed=plan.seed,
            faults=parse_kinds(plan.faults),
            faults_from_ms=now_ms,
            topic=self._settings.mqtt.topic,
        )
        timeline = Timeline(
            interval_s=plan.interval_s,
            start_ms=now_ms - plan.history_ms if plan.history_ms else None,
            live_s=plan.seconds,
            history_interval_s=plan.history_interval_s,
        )
        return Publisher(fleet, self._settings, timeline, on_trouble=self._report)

    def _follow(
        self,
        publisher: Publisher,
        sender: threading.Thread,
        topics: TopicTap,
        page: PageTap,
        on_tick: Callable[[str], None],
    ) -> None:
        """Until the meters stop; latencies count from when the history has come through."""
        while sender.is_alive() and topics.failure is None:
            sender.join(_LOOK_SECONDS)
            progress = publisher.progress
            arrived = len(topics.readings) + len(topics.dead_letters)
            if (
                progress.live
                and not topics.latencies.measuring
                and arrived + progress.open >= progress.published
            ):
                topics.latencies.measuring = page.latencies.measuring = True
            on_tick(_line("live" if progress.live else "history", progress.published, topics))
        self._raise(topics)

    def _await_arrival(self, publisher: Publisher, topics: TopicTap, on_tick: Callable[[str], None]) -> None:
        """What was published is on its way: wait until it is counted and in the tables, but not for ever."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while time.monotonic() < deadline and not self._all_there(publisher, topics):
            self._raise(topics)
            on_tick(_line("waiting for what is under way", publisher.progress.published, topics))
            time.sleep(_LOOK_SECONDS)

    def _all_there(self, publisher: Publisher, topics: TopicTap) -> bool:
        if len(topics.readings) + len(topics.dead_letters) < publisher.progress.published:
            return False
        stored = taken_in(self._settings.postgres_url)
        return all(stored.get(raw, -1) >= offset for raw, offset in topics.last_reading_offsets().items())

    def _summary(self, publisher: Publisher, topics: TopicTap, page: PageTap) -> Summary:
        tables = table_counts(self._settings.postgres_url)
        return Summary(
            published=publisher.progress.published,
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

    def _raise(self, topics: TopicTap) -> None:
        if topics.failure is not None:
            self._stop.set()
            raise topics.failure


def _line(state: str, published: int, topics: TopicTap) -> str:
    return (
        f"{state}: {published:,} published, {topics.raw:,} raw, {len(topics.readings):,} readings, "
        f"{len(topics.dead_letters):,} dead letters"
    )
