"""Up to which time all that arrived is in the lake: only then does a meter's silence mean that the meter is silent.

Nothing is ever "caught up" while meters send. So a probe notes where the raw topic ends at some moment, and follows the
records before those ends through the pipeline: each becomes a reading, a dead letter, or waits in the side topic; then what
the side query has made of it, and what the lake takes from `readings`. When all of it is through, the moment of the probe
is the watermark, and the next probe begins. A partition in which nothing comes is through at once, one that is behind
holds the watermark back.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.settings import Settings
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import Partition, end_offsets, find_topics, partitions_of
from strom.streams.record import record_of

Offsets = dict[int, int]  # partition → offset

_LOOK_BACK = (
    1000  # dead letters of each partition from before the start: the last raw record may be among them
)
_PATIENCE = 3.0  # for an answer of Kafka: the next question comes soon
_PLACE = re.compile(rf"{re.escape(topics.RAW)}(?::[a-z]+)?/([0-9]{{1,9}})/([0-9]{{1,18}})")
_READ_SECONDS = 0.5  # for outcomes, at each look: however many there are, nobody waits for them
_OUTAGE_SECONDS = (
    30.0  # behind an outage of Kafka: what the doors still hold has arrived, but is not in the raw topic
)


@dataclass(frozen=True, slots=True)
class Queries:
    """The running queries; None where the stage does not run."""

    raw: StreamingQuery | None
    side: StreamingQuery | None
    store: StreamingQuery | None


@dataclass
class _Probe:
    """`at_ms`: its moment. The ends that are to be reached, each noted when those before it were."""

    at_ms: int
    raw: Offsets
    side: Offsets | None = None
    readings: Offsets | None = None


class ArrivalWatermark:
    """`advance` often; the times are epoch ms, None while nothing is known.

    `side_ms`: all that arrived before has been seen by the side query. `readings_ms`: and is in the lake.
    """

    def __init__(
        self,
        settings: Settings,
        seen_aside: Callable[[], Offsets] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seen_aside`: the last raw offsets that the side query has seen."""
        self._clock = clock
        self.side_ms: int | None = None
        self.readings_ms: int | None = None
        self._settings = settings
        self._seen_aside = seen_aside
        self._client = admin_client(settings)
        self._dead_letters = _Outcomes(settings, topics.DEAD_LETTER)
        self._readings = _Outcomes(settings, topics.READINGS)
        self._probe: _Probe | None = None
        self._pause_until = float("-inf")

    def advance(self, now_ms: int, queries: Queries) -> None:
        """Raises StromError while Kafka or Postgres is away."""
        if self._clock() < self._pause_until:
            return
        try:
            self._advance(now_ms, queries)
        except (StromError, KafkaException):
            self._probe = None
            self._pause_until = self._clock() + _OUTAGE_SECONDS
            raise

    def _advance(self, now_ms: int, queries: Queries) -> None:
        probe = self._probe = self._probe or _Probe(now_ms, self._ends(topics.RAW))
        if probe.side is None and self._is_through(probe.raw, queries):
            probe.side = self._ends(topics.SIDE)
        if probe.side is None:
            return
        if probe.readings is None and (
            queries.side is None or reached(position(queries.side, topics.SIDE), probe.side)
        ):
            self.side_ms = probe.at_ms
            probe.readings = self._ends(topics.READINGS)
        if probe.readings is None:
            return
        if queries.store is None or reached(position(queries.store, topics.READINGS), probe.readings):
            self.readings_ms = probe.at_ms
            self._probe = None

    def _is_through(self, ends: Offsets, queries: Queries) -> bool:
        """Whether each raw record before the ends has become something, as far as anybody tells."""
        if queries.raw is not None and reached(position(queries.raw, topics.RAW), ends):
            return True
        self._dead_letters.read()
        if queries.store is None:  # where nobody takes readings in, the topic itself tells of them
            self._readings.read()
            taken: Offsets = {}
        else:
            taken = taken_in(self._settings.postgres_url)
        aside = self._seen_aside()
        now = self._ends(
            topics.RAW
        )  # after all of these: what lies behind is of a topic made anew, or made up
        told = (
            self._dead_letters.below(now), self._readings.below(now), _below(taken, now), _below(aside, now)
        )  # fmt: skip
        return all(
            end == 0 or max(each.get(part, -1) for each in told) >= end - 1 for part, end in ends.items()
        )

    def _ends(self, topic: str) -> Offsets:
        return {number: end for (_, number), end in ends_of(self._settings, self._client, topic).items()}


@dataclass
class _Outcomes:
    """What a topic tells of raw records, by the origins in it: the last offset of each raw partition."""

    settings: Settings
    topic: str
    _consumer: Consumer | None = None
    _noted: set[tuple[int, int]] = field(default_factory=set)
    _last: Offsets = field(default_factory=dict)

    def read(self) -> None:
        """Note what has come, as far as that goes in this time; the rest next time."""
        consumer = self._consumer = self._consumer or self._open()
        deadline = time.monotonic() + _READ_SECONDS
        while time.monotonic() < deadline and (messages := consumer.consume(10_000, timeout=0.1)):
            for message in messages:
                if message.error() is None:
                    self._note(record_of(message).header(topics.HEADER_ORIGIN))

    def below(self, ends: Offsets) -> Offsets:
        """Of all that was noted what can be true; the rest is forgotten."""
        for part, offset in self._noted:
            if offset < ends.get(part, 0):
                self._last[part] = max(offset, self._last.get(part, -1))
        self._noted.clear()
        return _below(self._last, ends)

    def _open(self) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self.settings.kafka_bootstrap,
                "group.id": "strom-pipeline-progress",
                "enable.auto.commit": False,
            }
        )
        ends = ends_of(self.settings, admin_client(self.settings), self.topic)
        consumer.assign([TopicPartition(*place, max(0, end - _LOOK_BACK)) for place, end in ends.items()])
        return consumer

    def _note(self, origin: str | None) -> None:
        """Whatever else stands there says nothing."""
        if (place := _PLACE.fullmatch(origin or "")) is not None:
            self._noted.add((int(place[1]), int(place[2])))


def _below(found: Offsets, ends: Offsets) -> Offsets:
    return {part: offset for part, offset in found.items() if offset < ends.get(part, 0)}


def ends_of(settings: Settings, client: AdminClient, topic: str) -> dict[Partition, int]:
    """One after the last record of each partition of the topic, or StromError soon."""
    places = partitions_of(find_topics(settings, client, [topic], timeout=_PATIENCE))
    return end_offsets(settings, client, places, _PATIENCE)


def position(query: StreamingQuery, topic: str) -> Offsets | None:
    """How far the query says that it is."""
    progress = query.lastProgress
    if progress is None:
        return None
    end = progress["sources"][0]["endOffset"]
    offsets = json.loads(end) if isinstance(end, str) else end
    return {int(number): int(offset) for number, offset in (offsets or {}).get(topic, {}).items()}


def reached(found: Offsets | None, ends: Offsets) -> bool:
    return (
        found is not None and bool(ends) and all(found.get(number, 0) >= end for number, end in ends.items())
    )
