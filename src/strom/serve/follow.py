"""Follows the `readings` topic and hands batches over; says when the line is lost.

It reads about an hour back, commits nothing and heals by itself. It does not know what becomes of a reading.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from strom.serve.curve import WINDOW_MS
from strom.serve.records import ForeignRecord, ForeignRecords, LiveReading, live_reading
from strom.settings import Settings
from strom.streams.client import common_config, error_of
from strom.streams.closing import close_later, close_within
from strom.streams.record import headers_of
from strom.streams.topics import HEADER_PUBLISHED, READINGS

LOG = logging.getLogger("strom.page")
BATCH = 2000
MOST_BACKLOG = 2_000_000  # records read at start at most, over all partitions
_PROBE_SECONDS = 3.0
_ANSWER_SECONDS = 5.0
_RETRY_SECONDS = 1.0
_WHAT = "the page's consumer"

Batch = list[LiveReading]


class Follower:
    """Calls `take` with each batch and waits for it, `line` when Kafka answers or why not, and `works` once."""

    def __init__(
        self,
        settings: Settings,
        foreign: ForeignRecords,
        take: Callable[[Batch], None],
        line: Callable[[bool, str], None],
        works: Callable[[], None],
        positions: dict[int, int],
    ) -> None:
        """`positions`: per partition the offset to go on from, kept here; where it has none, an hour back."""
        self._settings = settings
        self._foreign = foreign
        self._take = take
        self._line = line
        self._works = works
        self._positions = positions
        self._stopping = threading.Event()
        self._partitions = 0
        self._probed = 0.0
        self._working = False

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Until it is told to stop."""
        consumer = Consumer(_config(self._settings))
        try:
            while not self._stopping.is_set():
                try:
                    self._step(consumer)
                except KafkaException as error:
                    self._line(False, error_of(error).str())
                    self._stopping.wait(_RETRY_SECONDS)
        except BaseException:
            close_later(_WHAT, consumer.close, LOG)  # the error is told first
            raise
        close_within(_WHAT, consumer.close, LOG)

    def _step(self, consumer: Consumer) -> None:
        if time.monotonic() - self._probed > _PROBE_SECONDS:
            self._probe(consumer)
        if not self._partitions:
            self._stopping.wait(_RETRY_SECONDS)
            return
        first = consumer.poll(0.2)
        if first is not None:
            messages = [first, *consumer.consume(BATCH - 1, 0)]
            self._take(self._read(messages))
            for message in messages:
                if message.error() is None:
                    self._positions[message.partition() or 0] = (message.offset() or 0) + 1
        if not self._working:
            self._working = True
            self._works()

    def _probe(self, consumer: Consumer) -> None:
        """A real request: it tells whether the broker is there, and new partitions."""
        topic = consumer.list_topics(READINGS, timeout=_ANSWER_SECONDS).topics[READINGS]
        self._probed = time.monotonic()
        if topic.error is not None:
            self._partitions = 0  # one that is made anew begins anew
            self._positions.clear()
            self._line(False, f"the topic {READINGS} does not exist yet")
            return
        if len(topic.partitions) != self._partitions:
            consumer.assign(_starts(consumer, sorted(topic.partitions), self._positions))
            self._partitions = len(topic.partitions)
        self._line(True, "")

    def _read(self, messages: list[Message]) -> Batch:
        batch: Batch = []
        now_ms = round(time.time() * 1000)
        for message in messages:
            if message.error() is not None:
                continue
            value = message.value()
            try:
                if not isinstance(value, bytes):
                    raise ForeignRecord("it has no value")
                batch.append(live_reading(value, now_ms, _published(message)))
            except ForeignRecord as error:
                self._foreign.add(f"{READINGS}/{message.partition()}/{message.offset()}", error)
        return batch


def _config(settings: Settings) -> dict[str, Any]:
    return common_config(settings, "page") | {
        "group.id": "strom-page",  # asked for by the client library; nothing is ever committed
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        # The broker gathers records for a moment, unless there are many: a fetch costs as much as dozens of them.
        "fetch.wait.max.ms": 10,
        "fetch.min.bytes": 262_144,
        "queued.max.messages.kbytes": 16384,
    }


def _starts(consumer: Consumer, partitions: list[int], positions: dict[int, int]) -> list[TopicPartition]:
    """Where to begin in each partition: where it stopped, or an hour back, but not more records than can be read soon."""
    since = round(time.time() * 1000) - WINDOW_MS
    wanted = [TopicPartition(READINGS, partition, since) for partition in partitions]
    found = consumer.offsets_for_times(wanted, timeout=_ANSWER_SECONDS)
    starts = []
    for place in found:
        low, high = consumer.get_watermark_offsets(place, timeout=_ANSWER_SECONDS)
        offset = positions.get(place.partition, place.offset if place.offset >= 0 else high)
        starts.append(
            TopicPartition(
                READINGS, place.partition, max(low, offset, high - MOST_BACKLOG // len(partitions))
            )
        )
    return starts


def _published(message: Message) -> int | None:
    for name, value in headers_of(message):
        if name == HEADER_PUBLISHED and value is not None:
            text = value.decode("ascii", "replace")
            return int(text) if text.isdecimal() and len(text) < 18 else None
    return None
