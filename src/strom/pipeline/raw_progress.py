"""How far the raw topic has become something: readings, dead letters, or parts that the side query has seen.

The origin of each of these names its raw record, and those of one raw partition come in their order: the highest one tells
of all before it. Behind it there may be no record at all but only the marker that ends a transaction.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from strom.pipeline.positions import Offsets, Queries, ends_of, position
from strom.settings import Settings
from strom.store.reads import taken_marks
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.client import common_config
from strom.streams.record import record_of

Place = tuple[int, int]  # partition and offset of a raw record

_LOOK_BACK = (
    1000  # dead letters of each partition from before the start: the last raw record may be among them
)
_TAIL = 100  # readings of each partition, at each look
_PLACE = re.compile(rf"{re.escape(topics.RAW)}(?::[a-z]+)?/([0-9]{{1,9}})/([0-9]{{1,18}})")
_READ_SECONDS = 0.5  # for outcomes, at each look: however many there are, nobody waits for them
_GAP_SECONDS = 2.0  # for the first record of some partitions, at each look
_AHEAD_KBYTES = 1024  # fetched and not asked for yet


class RawProgress:
    def __init__(self, settings: Settings, client: AdminClient, seen_aside: Callable[[], Offsets]) -> None:
        """`seen_aside`: the last raw offsets that the side query has seen."""
        self._settings = settings
        self._client = client
        self._seen_aside = seen_aside
        self._dead_letters = _Outcomes(settings, topics.DEAD_LETTER)
        self._readings = _Outcomes(settings, topics.READINGS)
        self._last_readings = _LastOutcomes(settings, topics.READINGS)
        self._gaps = _Gaps(settings)

    def passed(self, queries: Queries) -> Offsets:
        """Up to where each raw record has become something, as far as anybody tells."""
        told: list[Place] = []
        if queries.raw is not None:
            told += [(part, end - 1) for part, end in position(queries.raw, topics.RAW).items()]
        told += self._seen_aside().items()
        self._dead_letters.read()
        if queries.store is None:  # where nobody takes readings in, the topic itself tells of them
            self._readings.read()
        else:  # the lake tells of all, the last records sooner of most
            self._last_readings.read()
            marks = taken_marks(self._settings.postgres_url)
            told += [(part, offset) for topic, part, offset in marks if _is_raw(topic)]
        # The ends after all of these: what lies behind them is of a topic made anew, or made up.
        ends = {number: end for (_, number), end in ends_of(self._settings, self._client, topics.RAW).items()}
        for outcomes in (self._dead_letters, self._readings, self._last_readings):
            told += outcomes.below(ends)
        passed = dict.fromkeys(ends, 0)
        for part, offset in told:
            if offset < ends.get(part, 0):
                passed[part] = max(offset + 1, passed[part])
        return self._gaps.skipped(passed, ends)


@dataclass
class _Outcomes:
    """What a topic tells of raw records, by the origins in it."""

    settings: Settings
    topic: str
    _consumer: Consumer | None = None
    _noted: set[Place] = field(default_factory=set)

    def read(self) -> None:
        """Note what has come, as far as that goes in this time; the rest next time."""
        consumer = self._consumer = self._consumer or self._open()
        deadline = time.monotonic() + _READ_SECONDS
        while time.monotonic() < deadline and (messages := consumer.consume(10_000, timeout=0.1)):
            for message in messages:
                self._note(message)

    def below(self, ends: Offsets) -> set[Place]:
        """Of all that was noted the last in each partition that can be true; the rest is forgotten."""
        last: Offsets = {}
        for part, offset in self._noted:
            if offset < ends.get(part, 0):
                last[part] = max(offset, last.get(part, 0))
        self._noted = set(last.items())
        return self._noted

    def _open(self) -> Consumer:
        consumer = _consumer_of(self.settings)
        consumer.assign(self._last(_LOOK_BACK))
        return consumer

    def _last(self, count: int) -> list[TopicPartition]:
        """Where so many records of each partition begin, or fewer."""
        ends = ends_of(self.settings, admin_client(self.settings), self.topic)
        return [TopicPartition(*place, max(0, end - count)) for place, end in ends.items()]

    def _note(self, message: Message) -> None:
        """Whatever else stands there says nothing."""
        if message.error() is None:
            origin = record_of(message).header(topics.HEADER_ORIGIN)
            if (place := _PLACE.fullmatch(origin or "")) is not None:
                self._noted.add((int(place[1]), int(place[2])))


class _LastOutcomes(_Outcomes):
    """The same by the last records only, where others tell of the rest: a topic in which more comes than one wants to read."""

    def read(self) -> None:
        consumer = self._consumer = self._consumer or _consumer_of(self.settings)
        places = self._last(_TAIL)
        consumer.assign(places)
        left, open_parts = _TAIL * len(places), {place.partition for place in places}
        deadline = time.monotonic() + _READ_SECONDS
        while left > 0 and open_parts and time.monotonic() < deadline:
            for message in consumer.consume(left, timeout=0.05):
                self._note(message)
                left -= 1
                if _is_end(message):
                    open_parts.discard(message.partition() or 0)
        consumer.unassign()


@dataclass
class _Gaps:
    """Offsets of the raw topic at which no record stands: markers of transactions, what was aborted, what has expired."""

    settings: Settings
    _consumer: Consumer | None = None
    _before: Offsets = field(default_factory=dict)

    def skipped(self, passed: Offsets, ends: Offsets) -> Offsets:
        """The same, or the next record or the end of the partition, where nothing has moved since the last time."""
        still = {
            part: offset
            for part, offset in passed.items()
            if offset < ends[part] and self._before.get(part) == offset
        }
        self._before = passed
        return passed | self._next_records(still) if still else passed

    def _next_records(self, starts: Offsets) -> Offsets:
        """The first committed record at or behind these offsets, or where reading on would wait for one.

        That is the end, or the first record of a transaction that is still open.
        """
        consumer = self._consumer = self._consumer or _consumer_of(self.settings)
        consumer.assign([TopicPartition(topics.RAW, *start) for start in starts.items()])
        found: Offsets = {}
        deadline = time.monotonic() + _GAP_SECONDS
        while len(found) < len(starts) and time.monotonic() < deadline:
            for message in consumer.consume(1000, timeout=0.1):
                part, offset = message.partition(), message.offset()
                if part is not None and offset is not None and (message.error() is None or _is_end(message)):
                    found.setdefault(part, offset)
        consumer.unassign()
        return found


def _consumer_of(settings: Settings) -> Consumer:
    """It leaves no trace at the broker, and fetches little that is not asked for."""
    return Consumer(
        common_config(settings, "strom-pipeline-progress")
        | {
            "group.id": "strom-without-group",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "queued.max.messages.kbytes": _AHEAD_KBYTES,
        }
    )


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def _is_raw(topic: str) -> bool:
    """Whether an origin of this topic is a place in the raw topic, by whichever way it came."""
    return topic.partition(":")[0] == topics.RAW
