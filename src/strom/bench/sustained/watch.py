"""Looks at a running stack about once a second: how far behind `readings`, the tables and the page are."""

import time
from dataclasses import dataclass

from strom.bench.sustained.arrivals import TopicEnds
from strom.bench.sustained.lags import LagSeries, behind_by_age, spread
from strom.bench.sustained.load import LoadProcess
from strom.bench.sustained.messages import name_of
from strom.demo.taps import PageTap
from strom.domain.slots import SLOT_SECONDS
from strom.settings import Settings
from strom.store.freshness import Freshness
from strom.streams import topics

METERS_IN_TABLES = 200  # those that the tables are asked for
METERS_ON_PAGE = 40  # those that an open page shows


@dataclass
class Waiting:
    """Messages on their way when last looked at."""

    for_kafka: int = 0  # published, not in the raw topic
    for_readings: int = 0  # in the raw topic, not in `readings` or the dead letter


class Watch:
    def __init__(self, settings: Settings, load: LoadProcess) -> None:
        meters = load.load.meters
        self._load = load
        self._ends = TopicEnds(settings)
        self._asked = [name_of(meter) for meter in spread(meters, METERS_IN_TABLES)]
        self._freshness = Freshness(settings.postgres_url)
        self.shown = [name_of(meter) for meter in spread(meters, METERS_ON_PAGE)]
        self.page = PageTap(f"http://{settings.page.host}:{settings.page.port}", self.shown)
        self.page.latencies.since_ms = 0
        self.page.open()
        self.readings = LagSeries()
        self.tables = LagSeries()
        self.newest = LagSeries()  # age of the newest reading in the tables
        self.waiting = Waiting()
        self.all_in_tables = False  # each of the meters that are asked for has been seen there
        self.slots: dict[int, float | None] = {}  # how long after its end each quarter-hour was there
        self._began_s = load.counts.began_ms.value / 1000

    def look(self) -> None:
        self._load.check()
        sent, now = self._load.counts.sent.value, time.time()
        self.look_at_topics(sent, now)
        received = self._freshness.received(self._asked)
        self.all_in_tables = None not in received
        now = time.time()
        self.tables.note(now, behind_by_age(received, self._began_s, self._load.load.interval_s, now))
        self.newest.note(now, now - max((at for at in received if at is not None), default=self._began_s))
        self._look_at_slots(now)

    def look_at_topics(self, sent: int, now: float) -> None:
        ends = self._ends.by_topic()
        through = ends[topics.READINGS] + ends[topics.DEAD_LETTER]
        self.waiting = Waiting(max(0, sent - ends[topics.RAW]), max(0, ends[topics.RAW] - through))
        self.readings.note(now, max(0, sent - through) / self._load.load.rate)

    def is_complete(self) -> bool:
        """Whether all that was published is in `readings`, and each meter's last message in the tables."""
        counts, ends = self._load.counts, self._ends.by_topic()
        through = ends[topics.READINGS] + ends[topics.DEAD_LETTER]
        return (
            counts.confirmed.value <= ends[topics.RAW] <= through
            and self.meters_up_to_date() >= self.meters_sent()
        )

    def meters_up_to_date(self) -> int:
        """How many meters have their last message in the tables."""
        return self._freshness.received_since(self._load.counts.last_round_ms.value)

    def meters_sent(self) -> int:
        return min(self._load.load.meters, self._load.counts.sent.value)

    def page_lag_s(self) -> float:
        """Of the last reading that the page showed."""
        values = self.page.latencies.values
        return values[-1] / 1000 if values else 0.0

    def measure_page(self) -> int:
        """What the page shows counts from now on, if it was published from now on; returns this moment in ms."""
        since_ms = self.page.latencies.since_ms = time.time_ns() // 1_000_000
        self.page.latencies.values.clear()
        return since_ms

    def close(self) -> None:
        self._freshness.close()
        self.page.close()

    def _look_at_slots(self, now: float) -> None:
        """Quarter-hours that the load has been there for from their beginning to their end."""
        end = int(now) - int(now) % SLOT_SECONDS
        if end - SLOT_SECONDS >= self._began_s + self._load.load.interval_s:
            self.slots.setdefault(end, None)
        for end, took in self.slots.items():
            if took is None and self._has_slot(end - SLOT_SECONDS):
                self.slots[end] = now - end

    def _has_slot(self, start_s: int) -> bool:
        return self._freshness.quarter_hours(start_s, self._asked) == len(self._asked)
