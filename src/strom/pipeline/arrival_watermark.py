"""Up to which time all that arrived is in the lake: only then does a meter's silence mean that the meter is silent.

Nothing is ever "caught up" while meters send. So a probe notes where the raw topic ends at some moment, and follows the
records before those ends through the pipeline: each becomes a reading, a dead letter, or waits in the side topic; then what
the side query has made of it, and what the lake takes from `readings`. When all of it is through, the moment of the probe
is the watermark, and the next probe begins. A partition in which nothing comes is through at once, one that is behind
holds the watermark back.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.settings import Settings
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import end_offsets, find_topics, partitions_of

Offsets = dict[int, int]  # partition → offset

_LOOK_BACK = (
    1000  # dead letters of each partition from before the start: the last raw record may be among them
)
_READ_SECONDS = 0.5  # for the dead letters, at each look: however many there are, nobody waits for them
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

    def __init__(self, settings: Settings, seen_aside: Callable[[], Offsets] = dict) -> None:
        """`seen_aside`: the last raw offsets that the side query has seen."""
        self.side_ms: int | None = None
        self.readings_ms: int | None = None
        self._settings = settings
        self._seen_aside = seen_aside
        self._client = admin_client(settings)
        self._refused = _Refused(settings)
        self._probe: _Probe | None = None
        self._pause_until = 0.0

    def advance(self, now_ms: int, queries: Queries) -> None:
        """Raises StromError while Kafka or Postgres is away."""
        if time.monotonic() < self._pause_until:
            return
        try:
            self._advance(now_ms, queries)
        except (StromError, KafkaException):
            self._probe = None
            self._pause_until = time.monotonic() + _OUTAGE_SECONDS
            raise

    def _advance(self, now_ms: int, queries: Queries) -> None:
        probe = self._probe = self._probe or _Probe(now_ms, self._ends(topics.RAW))
        if probe.side is None and self._is_through(probe.raw, queries.raw):
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

    def _is_through(self, ends: Offsets, raw: StreamingQuery | None) -> bool:
        """Whether each raw record before the ends has become something, as far as anybody tells."""
        if raw is not None and reached(position(raw, topics.RAW), ends):
            return True
        taken, aside, refused = (
            taken_in(self._settings.postgres_url),
            self._seen_aside(),
            self._refused.offsets(),
        )
        last = {part: max(each.get(part, -1) for each in (taken, aside, refused)) for part in ends}
        now = self._ends(topics.RAW)
        # An offset behind the present end is of a topic that was made anew since.
        return all(end == 0 or end - 1 <= last[part] < now.get(part, 0) for part, end in ends.items())

    def _ends(self, topic: str) -> Offsets:
        places = partitions_of(find_topics(self._settings, self._client, [topic]))
        found = end_offsets(self._settings, self._client, places)
        return {number: end for (_, number), end in found.items()}


@dataclass
class _Refused:
    """The last offset of each raw partition that became a dead letter."""

    settings: Settings
    _consumer: Consumer | None = None
    _offsets: Offsets = field(default_factory=dict)

    def offsets(self) -> Offsets:
        consumer = self._consumer = self._consumer or self._open()
        deadline = time.monotonic() + _READ_SECONDS
        while time.monotonic() < deadline and (messages := consumer.consume(10_000, timeout=0.1)):
            for message in messages:
                if message.error() is None:
                    self._note(message.headers())
        return self._offsets

    def _open(self) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self.settings.kafka_bootstrap,
                "group.id": "strom-pipeline-progress",
                "enable.auto.commit": False,
            }
        )
        client = admin_client(self.settings)
        places = partitions_of(find_topics(self.settings, client, [topics.DEAD_LETTER]))
        ends = end_offsets(self.settings, client, places)
        consumer.assign([TopicPartition(*place, max(0, end - _LOOK_BACK)) for place, end in ends.items()])
        return consumer

    def _note(self, headers: object) -> None:
        """By its origin; whatever else stands there says nothing."""
        pairs = headers if isinstance(headers, list) else []
        origin = next((value for name, value in reversed(pairs) if name == topics.HEADER_ORIGIN), None)
        text = origin.decode(errors="replace") if isinstance(origin, bytes) else origin or ""
        topic, _, place = text.partition("/")
        part, _, offset = place.partition("/")
        if topic == topics.RAW and _is_number(part) and _is_number(offset):
            self._offsets[int(part)] = max(int(offset), self._offsets.get(int(part), -1))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


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
