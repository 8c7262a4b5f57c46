"""Reads single records by their place in a topic, for whoever has noted where they are."""

import logging
import time
from collections.abc import Iterable, Iterator

from confluent_kafka import Consumer, KafkaError, TopicPartition

from strom.settings import Settings
from strom.streams.client import ANSWER_SECONDS, common_config, no_answer
from strom.streams.closing import close_within
from strom.streams.record import Record, record_of

LOG = logging.getLogger("strom.streams")
_POLL_SECONDS = 0.2
_AHEAD_KBYTES = 4096  # fetched and not asked for yet


class Places:
    """Leaves no trace at the broker."""

    def __init__(self, settings: Settings, topic: str) -> None:
        self._settings, self._topic = settings, topic
        self._consumer = Consumer(
            common_config(settings, "strom-places")
            | {
                "group.id": "strom-without-group",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                "queued.max.messages.kbytes": _AHEAD_KBYTES,
            }
        )

    def records(self, places: Iterable[tuple[int, int]]) -> Iterator[Record]:
        """Those at these partitions and offsets that are still there, in the order in which they are asked for."""
        for partition, offset in places:
            self._consumer.assign([TopicPartition(self._topic, partition, offset)])
            record = self._next(partition)
            if record is not None and record.offset == offset:
                yield record

    def close(self) -> None:
        close_within("a reader of single records", self._consumer.close, LOG)

    def _next(self, partition: int) -> Record | None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None or message.partition() != partition:
                continue
            error = message.error()
            if error is None:
                return record_of(message)
            if error.code() == KafkaError._PARTITION_EOF:
                return None
        raise no_answer(self._settings, f"no record of {self._topic} within {ANSWER_SECONDS:g} s")
