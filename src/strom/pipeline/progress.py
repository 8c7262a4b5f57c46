"""Tells whether the pipeline has caught up: only then does a meter's silence mean that the meter is silent."""

import json

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from strom.settings import Settings
from strom.streams import topics
from strom.streams.client import as_strom_error

Offsets = dict[int, int]  # partition → offset


class CaughtUp:
    """Compares how far the queries are with the ends of the topics."""

    def __init__(self, settings: Settings) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": settings.kafka_bootstrap, "group.id": "strom-pipeline-progress"}
        )
        try:
            self._raw_at_start = self._ends(topics.RAW)
        except KafkaException as error:
            raise as_strom_error(settings, "tell how far its topics go", error) from None

    def tells(self, raw: StreamingQuery | None, store: StreamingQuery) -> bool:
        """Whether all of `readings` is taken in and the real-time query is past what was waiting at the start."""
        if raw is not None and not _reached(_position(raw, topics.RAW), self._raw_at_start):
            return False
        try:
            ends = self._ends(topics.READINGS)
        except KafkaException:
            return False  # nobody can tell while Kafka is away
        return _reached(_position(store, topics.READINGS), ends)

    def _ends(self, topic: str) -> Offsets:
        partitions = self._consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = {number: TopicPartition(topic, number) for number in partitions}
        return {
            number: self._consumer.get_watermark_offsets(end, timeout=10)[1] for number, end in ends.items()
        }


def _position(query: StreamingQuery, topic: str) -> Offsets | None:
    progress = query.lastProgress
    if progress is None:
        return None
    end = progress["sources"][0]["endOffset"]
    offsets = json.loads(end) if isinstance(end, str) else end
    return {int(number): int(offset) for number, offset in (offsets or {}).get(topic, {}).items()}


def _reached(position: Offsets | None, ends: Offsets) -> bool:
    return (
        position is not None
        and bool(ends)
        and all(position.get(number, 0) >= end for number, end in ends.items())
    )
