"""What of the raw topic has become a reading or a dead letter, record by record, and how long each reading took.

It reads the topics when the load is over: Kafka has noted when each record came, and nothing is taken from the run.
"""

from collections import Counter
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Message, TopicPartition

from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.client import common_config
from strom.streams.offsets import Partition, end_offsets, find_topics, partitions_of
from strom.streams.record import headers_of

WATCHED = (topics.RAW, topics.READINGS, topics.DEAD_LETTER)
_BATCH = 10_000
_POLL_SECONDS = 1.0


class TopicEnds:
    """How many records the topics have; they begin empty."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = admin_client(settings)
        self._places = partitions_of(find_topics(settings, self._client, WATCHED))

    def by_partition(self) -> dict[Partition, int]:
        return end_offsets(self._settings, self._client, self._places)

    def by_topic(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (topic, _), end in self.by_partition().items():
            found[topic] += end
        return found


@dataclass
class Arrived:
    """Each raw record counts once, however often it was repeated."""

    raw: int = 0
    readings: int = 0
    dead_letters: int = 0
    repeated: int = 0
    latencies_ms: Counter[int] = field(default_factory=Counter)  # of the readings that count


def read_arrivals(settings: Settings, since_ms: int, until_ms: int) -> Arrived:
    """All that lies in the topics now; latencies are those of the readings that were published in this span."""
    ends = TopicEnds(settings).by_partition()
    arrived = Arrived(raw=sum(end for (topic, _), end in ends.items() if topic == topics.RAW))
    seen = {str(part): bytearray(end) for (topic, part), end in ends.items() if topic == topics.RAW}
    left = {place: end for place, end in ends.items() if place[0] != topics.RAW and end}
    consumer = Consumer(
        common_config(settings, "bench-arrivals")
        | {"group.id": "strom-bench", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.assign([TopicPartition(topic, part, 0) for topic, part in left])
        while left:
            for message in consumer.consume(_BATCH, _POLL_SECONDS):
                place, end = _place(message), (message.offset() or 0) + 1
                if message.error() is not None or place not in left:
                    continue
                _note(message, arrived, seen, (since_ms, until_ms))
                if end >= left[place]:
                    del left[place]
    finally:
        consumer.close()
    return arrived


def _note(message: Message, arrived: Arrived, seen: dict[str, bytearray], span_ms: tuple[int, int]) -> None:
    headers = dict(headers_of(message))
    _, partition, offset = str(headers[topics.HEADER_ORIGIN], "ascii").rsplit("/", 2)  # type: ignore[arg-type]
    marks, place = seen[partition], int(offset)
    if marks[place]:
        arrived.repeated += 1
        return
    marks[place] = 1
    if message.topic() == topics.DEAD_LETTER:
        arrived.dead_letters += 1
        return
    arrived.readings += 1
    published = int(headers[topics.HEADER_PUBLISHED] or 0)
    if span_ms[0] <= published < span_ms[1]:
        arrived.latencies_ms[message.timestamp()[1] - published] += 1


def _place(message: Message) -> Partition:
    return message.topic() or "", message.partition() or 0
