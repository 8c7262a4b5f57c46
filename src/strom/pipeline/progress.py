"""Tells whether the pipeline has caught up: only then does a meter's silence mean that the meter is silent."""

import json
import re
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.settings import Settings
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.client import ANSWER_SECONDS
from strom.streams.offsets import end_offsets, find_topics, partitions_of
from strom.streams.record import record_of

Offsets = dict[int, int]  # partition → offset

_LOOK_BACK = (
    1000  # dead letters of each partition from before the start: the last raw record may be among them
)
_READ_SECONDS = 1.0  # for dead letters at a time: they may keep coming, and whoever asks has other work
_PATIENCE = 3.0  # for an answer of Kafka: the next question comes soon
_PLACE = re.compile(rf"{re.escape(topics.RAW)}/([0-9]{{1,9}})/([0-9]{{1,18}})")


class Ends:
    """Compares how far a query is with the end of its topic."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = admin_client(settings)

    def of(self, topic: str, timeout: float = ANSWER_SECONDS) -> Offsets:
        places = partitions_of(find_topics(self._settings, self._client, [topic], timeout=timeout))
        found = end_offsets(self._settings, self._client, places, timeout)
        return {number: end for (_, number), end in found.items()}

    def are_reached(self, query: StreamingQuery, topic: str) -> bool:
        """Whether the query has done all that the topic holds; nobody can tell while Kafka is away."""
        try:
            return _reached(_position(query, topic), self.of(topic, _PATIENCE))
        except StromError:
            return False


class CaughtUp:
    """Compares how far the queries are with the ends of the topics."""

    def __init__(self, settings: Settings) -> None:
        self._ends = Ends(settings)
        self._backlog = Backlog(settings)

    def tells(self, raw: StreamingQuery | None, side: StreamingQuery | None, store: StreamingQuery) -> bool:
        """Whether the real-time query is past what was waiting at the start, and what it writes is all taken in.

        In the order of the way: what one has done, the next has before it.
        """
        return (
            self.is_past_backlog(raw)
            and (side is None or self._ends.are_reached(side, topics.SIDE))
            and self._ends.are_reached(store, topics.READINGS)
        )

    def is_past_backlog(self, raw: StreamingQuery | None) -> bool:
        try:
            return raw is None or self._backlog.is_done(_position(raw, topics.RAW))
        except (KafkaException, StromError):
            return False  # nobody can tell while Kafka or Postgres is away


class Backlog:
    """The raw records that were waiting at the start: done when each of them is a reading in the tables or a dead letter.

    The real-time query itself tells how far it is only when one of its long batches ends.
    """

    def __init__(self, settings: Settings) -> None:
        self._url = settings.postgres_url
        self._letters = Consumer(
            {
                "bootstrap.servers": settings.kafka_bootstrap,
                "group.id": "strom-pipeline-progress",
                "enable.auto.commit": False,
            }
        )
        ends = Ends(settings)
        self._ends = ends.of(topics.RAW)
        self._refused: Offsets = {}  # the highest offset of each raw partition that became a dead letter
        # Marks beyond the end are those of a topic that was made anew since.
        self._void = {
            part: mark for part, mark in taken_in(self._url).items() if mark >= self._ends.get(part, 0)
        }
        self._letters.assign(
            [
                TopicPartition(topics.DEAD_LETTER, number, max(0, end - _LOOK_BACK))
                for number, end in ends.of(topics.DEAD_LETTER).items()
            ]
        )
        self._done = False

    def is_done(self, position: Offsets | None = None) -> bool:
        """`position`: how far the query says that it is."""
        self._done = self._done or _reached(position, self._ends) or _reached(self._outcomes(), self._ends)
        return self._done

    def _outcomes(self) -> Offsets:
        self._read_letters()
        taken = {part: mark for part, mark in taken_in(self._url).items() if mark != self._void.get(part)}
        return {part: max(taken.get(part, -1), self._refused.get(part, -1)) + 1 for part in self._ends}

    def _read_letters(self) -> None:
        """What has come, as far as that goes in this time; the rest next time."""
        until = time.monotonic() + _READ_SECONDS
        while messages := self._letters.consume(1000, timeout=0.5):
            for message in messages:
                if message.error() is None:
                    self._note(record_of(message).header(topics.HEADER_ORIGIN))
            if time.monotonic() >= until:
                return

    def _note(self, origin: str | None) -> None:
        place = _PLACE.fullmatch(origin or "")
        if place is not None:
            part, offset = int(place[1]), int(place[2])
            if offset >= self._ends.get(part, 0):
                return  # it came later, or says what cannot be
            self._refused[part] = max(offset, self._refused.get(part, -1))


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
