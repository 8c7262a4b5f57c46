"""Follows the `readings` topic in a thread of its own and hands batches over; says when the line is lost.

It reads about an hour back, commits nothing and heals by itself. It does not know what becomes of a reading.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from strom.domain.reading import Reading
from strom.serve.curve import WINDOW_MS
from strom.settings import Settings
from strom.streams.client import common_config, error_of
from strom.streams.topics import HEADER_PUBLISHED, READINGS

LOG = logging.getLogger("strom.page")

BATCH = 1000
MOST_BACKLOG = 2_000_000  # records read at start at most, over all partitions
_PROBE_SECONDS = 3.0
_ANSWER_SECONDS = 5.0
_RETRY_SECONDS = 1.0

Batch = list[tuple[Reading, int | None]]  # readings with when they were published, in epoch ms


class Follower(threading.Thread):
    """Calls `take` with each batch and waits for it, and `line` with whether Kafka answers or why not."""

    def __init__(
        self, settings: Settings, take: Callable[[Batch], None], line: Callable[[bool, str], None]
    ) -> None:
        super().__init__(name="follow-readings", daemon=True)
        self._settings = settings
        self._take = take
        self._line = line
        self._stopping = threading.Event()
        self._partitions = 0
        self._probed = 0.0

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        consumer = Consumer(_config(self._settings))
        try:
            while not self._stopping.is_set():
                try:
                    self._step(consumer)
                except KafkaException as error:
                    self._line(False, error_of(error).str())
                    self._stopping.wait(_RETRY_SECONDS)
        finally:
            consumer.close()

    def _step(self, consumer: Consumer) -> None:
        if time.monotonic() - self._probed > _PROBE_SECONDS:
            self._probe(consumer)
        if not self._partitions:
            self._stopping.wait(_RETRY_SECONDS)
            return
        first = consumer.poll(0.2)
        if first is None:
            return
        batch = _parse([first, *consumer.consume(BATCH - 1, 0)])
        if batch:
            self._line(True, "")
            self._take(batch)

    def _probe(self, consumer: Consumer) -> None:
        """A real request: it tells whether the broker is there, and new partitions."""
        topic = consumer.list_topics(READINGS, timeout=_ANSWER_SECONDS).topics[READINGS]
        self._probed = time.monotonic()
        if topic.error is not None:
            self._partitions = 0  # one that is made anew begins anew
            self._line(False, f"the topic {READINGS} does not exist yet")
            return
        if len(topic.partitions) != self._partitions:
            consumer.assign(_an_hour_ago(consumer, sorted(topic.partitions)))
            self._partitions = len(topic.partitions)
        self._line(True, "")


def _config(settings: Settings) -> dict[str, Any]:
    return common_config(settings, "page") | {
        "group.id": "strom-page",  # asked for by the client library; nothing is ever committed
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "queued.max.messages.kbytes": 16384,
    }


def _an_hour_ago(consumer: Consumer, partitions: list[int]) -> list[TopicPartition]:
    """Where to begin in each partition: an hour back, but not more records than can be read soon."""
    since = round(time.time() * 1000) - WINDOW_MS
    wanted = [TopicPartition(READINGS, partition, since) for partition in partitions]
    found = consumer.offsets_for_times(wanted, timeout=_ANSWER_SECONDS)
    starts = []
    for place in found:
        low, high = consumer.get_watermark_offsets(place, timeout=_ANSWER_SECONDS)
        offset = place.offset if place.offset >= 0 else high
        starts.append(
            TopicPartition(
                READINGS, place.partition, max(low, offset, high - MOST_BACKLOG // len(partitions))
            )
        )
    return starts


def _parse(messages: list[Message]) -> Batch:
    batch: Batch = []
    for message in messages:
        value = message.value()
        if message.error() is not None or value is None:
            continue
        try:
            reading = json.loads(value)
            batch.append((reading, _published(message)))
        except ValueError:
            LOG.warning("%s/%s/%s is not JSON", message.topic(), message.partition(), message.offset())
    return batch


def _published(message: Message) -> int | None:
    headers = message.headers() or []
    for name, value in headers if isinstance(headers, list) else headers.items():
        if name == HEADER_PUBLISHED and value is not None:
            text = value.decode() if isinstance(value, bytes) else value
            return int(text) if text.isdecimal() else None
    return None
