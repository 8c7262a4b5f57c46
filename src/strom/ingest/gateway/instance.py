"""One consumer of one group, kept between the requests of its user; its calls block and come one at a time.

Records count as read when the next ones are asked for or the consumer is closed; what could not be handed over,
because the caller was gone, comes again.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from strom.ingest.gateway.places import Place
from strom.ingest.gateway.reading import consumer_config, problem_of, require_answer, take
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.offsets import Partition
from strom.streams.record import Record

_RESETS = {"earliest": "earliest", "latest": "latest", "none": "error"}
RESETS = tuple(_RESETS)
_MS_OVER_IDLE = 60_000  # the gateway closes it before Kafka takes it for dead
_COMMIT_MS = 1000


@dataclass(frozen=True)
class Choices:
    """What the headers of the first request say; None is not said."""

    reset: str | None = None
    auto_commit: bool | None = None


class Instance:
    def __init__(self, settings: Settings, group: str, choices: Choices) -> None:
        self.topic: str | None = None
        self.reset = choices.reset or "latest"
        self.auto_commit = choices.auto_commit is not False
        self._most = settings.gateway.read_records
        self._read: dict[Partition, int] = {}  # the offset behind the last record handed out
        self._kept: list[Record] = []
        self._using = threading.Lock()  # by one call at a time
        self._closing = threading.Lock()
        self._is_closed = False
        idle_ms = round(settings.gateway.consumer_idle_seconds * 1000)
        self._consumer = Consumer(
            consumer_config(
                settings,
                group,
                **{
                    "enable.auto.commit": self.auto_commit,
                    "auto.commit.interval.ms": _COMMIT_MS,
                    "auto.offset.reset": _RESETS[self.reset],
                    "max.poll.interval.ms": idle_ms + _MS_OVER_IDLE,
                },
            )
        )

    def agrees(self, choices: Choices) -> bool:
        """Whether a later request says nothing else than the first."""
        return choices.reset in (None, self.reset) and choices.auto_commit in (None, self.auto_commit)

    def read(self, topic: str, timeout_ms: int, is_over: Callable[[], bool]) -> list[Record]:
        with self._using:
            return self._read_on(topic, timeout_ms, is_over)

    def handed_out(self, records: list[Record]) -> None:
        self._read |= {(each.topic, each.partition): each.offset + 1 for each in records}

    def keep(self, records: list[Record]) -> None:
        """They did not reach the caller."""
        self._kept = records

    def commit(self, places: list[Place]) -> None:
        """These offsets, or without any what was handed out; while Kafka hangs, this may not come back."""
        with self._using:
            self._commit(places)

    def partitions(self) -> list[int] | None:
        """Those that it has now, None once it is closed; can be asked while another call is under way."""
        with self._closing:
            return None if self._is_closed else sorted(each.partition for each in self._consumer.assignment())

    def close(self) -> None:
        """When the call under way is over; may not come back."""
        with self._using:
            if self._is_closed:
                return
            if self.auto_commit:
                self._store()
            with self._closing:
                self._is_closed = True
            with suppress(KafkaException, RuntimeError):
                self._consumer.close()

    def _read_on(self, topic: str, timeout_ms: int, is_over: Callable[[], bool]) -> list[Record]:
        if self.auto_commit:
            self._store()
        self._turn_to(topic)
        kept, self._kept = self._kept, []
        if kept:
            return kept
        records = take(self._consumer, self._most, timeout_ms, is_over)
        if not records:
            require_answer(self._consumer, topic)
        return records

    def _commit(self, places: list[Place]) -> None:
        named = {(each.topic, each.partition): each.offset for each in places}
        try:
            if named:
                answered = self._consumer.commit(offsets=_offsets(named), asynchronous=False)
            else:
                self._store()
                answered = self._consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error_of(error).code() != KafkaError._NO_OFFSET:  # there is nothing new to commit
                raise problem_of(error_of(error)) from None
            return
        for each in answered or ():
            if each.error is not None:
                raise problem_of(each.error)

    def _handed_out_of_ours(self) -> dict[Partition, int]:
        """Partitions that went to another consumer of the group are no longer ours to tell of."""
        ours = {(each.topic, each.partition) for each in self._consumer.assignment()}
        return {place: offset for place, offset in self._read.items() if place in ours}

    def _turn_to(self, topic: str) -> None:
        if topic == self.topic:
            return
        self._kept = []
        self._read.clear()
        try:
            self._consumer.subscribe([topic])
        except KafkaException as error:
            raise problem_of(error_of(error)) from None
        self.topic = topic

    def _store(self) -> None:
        """What was handed out is done with: it is in the next commit."""
        with suppress(KafkaException):  # the consumer may have lost a partition by now
            if ours := self._handed_out_of_ours():
                self._consumer.store_offsets(offsets=_offsets(ours))
        self._read.clear()


def _offsets(wanted: dict[Partition, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in wanted.items()]
