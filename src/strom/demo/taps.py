"""Listens at two ends of the way, as any user could: at the topics by a consumer, at the page by its live events.

Counts each raw record once, however often it was repeated, and notes how long a live reading took.
"""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.client import HTTPException
from urllib.parse import urlencode

from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import end_offsets, find_topics, partitions_of
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import LATEST

EVERY_METER = "*"
_RETRY_SECONDS = 1.0


@dataclass
class Latencies:
    """How long readings took from publish, in ms; only those published since `since_ms` count."""

    since_ms: int | None = None
    values: list[int] = field(default_factory=list)

    def note(self, published: str | int | None, arrived_ms: int) -> None:
        stamp = str(published)
        if self.since_ms is not None and stamp.isdecimal() and int(stamp) >= self.since_ms:
            self.values.append(arrived_ms - int(stamp))

    def quantile(self, share: float) -> int | None:
        if not self.values:
            return None
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Taps:
    """Both ends; opened when the stack is up, because only then there are topics to listen at."""

    def __init__(self, settings: Settings, page_address: str) -> None:
        self._settings = settings
        self.page = PageTap(page_address)
        self.topics: TopicTap

    def open(self) -> None:
        self.topics = TopicTap(self._settings)
        self.topics.open()
        self.page.open()

    def measure(self, since_ms: int) -> None:
        self.topics.latencies.since_ms = self.page.latencies.since_ms = since_ms

    def close(self) -> None:
        self.page.close()
        self.topics.close()


class TopicTap:
    """Follows raw, readings and dead letters from the moment it is opened."""

    def __init__(self, settings: Settings) -> None:
        # After a restart `normalise` may repeat what it wrote in an earlier run; that is not this run's.
        self._first = raw_ends(settings)
        watched = [topics.RAW, topics.READINGS, topics.DEAD_LETTER]
        self._records = Records(settings, watched, start=LATEST)
        self.raw = 0
        self.readings: set[str] = set()
        self.dead_letters: set[str] = set()
        self.latencies = Latencies()
        self._thread = threading.Thread(target=self._follow, name="demo-topics", daemon=True)
        self._opened = threading.Event()
        self.failure: Exception | None = None

    def open(self) -> None:
        """Return when the ends of the topics are known: what comes from then on is counted."""
        self._thread.start()
        self._opened.wait()

    def close(self) -> None:
        self._records.stop()
        self._thread.join()

    def last_reading_offsets(self) -> dict[int, int]:
        """Per raw partition the highest offset that became a reading."""
        last: dict[int, int] = {}
        for origin in self.readings.copy():
            _, partition, offset = origin.rsplit("/", 2)
            last[int(partition)] = max(int(offset), last.get(int(partition), -1))
        return last

    def _follow(self) -> None:
        try:
            with self._records as records:
                self._opened.set()
                for record in records:
                    self._count(record)
        except Exception as error:  # told by whoever waits for the counts
            self.failure = error
        finally:
            self._opened.set()

    def _count(self, record: Record) -> None:
        origin = record.header(topics.HEADER_ORIGIN) or ""
        if record.topic == topics.RAW:
            self.raw += 1
        elif not self._is_of_this_run(origin):
            return
        elif record.topic == topics.DEAD_LETTER:
            self.dead_letters.add(origin)
        elif origin not in self.readings:
            self.readings.add(origin)
            self.latencies.note(record.header(topics.HEADER_PUBLISHED), record.at_ms or 0)

    def _is_of_this_run(self, origin: str) -> bool:
        place = origin.rsplit("/", 2)[1:]
        return len(place) == 2 and int(place[1]) >= self._first.get(int(place[0]), 0)


def raw_ends(settings: Settings) -> dict[int, int]:
    """Where each partition of the raw topic ends now."""
    client = admin_client(settings)
    places = partitions_of(find_topics(settings, client, [topics.RAW], None))
    return {partition: end for (_, partition), end in end_offsets(settings, client, places).items()}


class PageTap:
    """Hears readings at the page's own live events, as a browser does: those of every meter, or of some."""

    def __init__(self, address: str, meters: Iterable[str] = (EVERY_METER,)) -> None:
        self._address = f"{address}/api/v1/live?{urlencode([('meter', meter) for meter in meters])}"
        self.latencies = Latencies()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="demo-page", daemon=True)

    def open(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=5)

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                with urllib.request.urlopen(self._address, timeout=30) as stream:  # noqa: S310  our own page
                    _read_events(stream.readline, self._event, self._stopping)
            except (OSError, HTTPException):
                self._stopping.wait(_RETRY_SECONDS)

    def _event(self, name: str, data: str) -> None:
        if name == "reading":
            self.latencies.note(json.loads(data).get("published"), time.time_ns() // 1_000_000)


def _read_events(
    readline: Callable[[], bytes], on_event: Callable[[str, str], None], stopping: threading.Event
) -> None:
    """Server-sent events, line by line, until the stream ends."""
    name = ""
    while not stopping.is_set() and (line := readline()):
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            on_event(name, text.removeprefix("data: "))
