"""Reads records from topics, one after the other; what a record means is for its reader to know.

with Records(settings, [RAW], start=EARLIEST, until_end=True) as records:
    for record in records: …
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from strom.settings import Settings
from strom.streams.admin import admin_client
from strom.streams.client import ANSWER_SECONDS, as_strom_error, common_config, refused
from strom.streams.offsets import Partition, find_topics, partitions_of
from strom.streams.start import LATEST, Start, resolve

_POLL_SECONDS = 0.2  # how soon a reader that waits notices `stop`
_TIMESTAMP_NOT_AVAILABLE = 0


@dataclass(frozen=True, slots=True)
class Record:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    at_ms: int | None  # when it was written, epoch ms

    def header(self, name: str) -> str | None:
        """The last header of this name as text."""
        for header, value in reversed(self.headers):
            if header == name:
                return None if value is None else value.decode(errors="replace")
        return None


class Records:
    """An iterator over records; without a group it reads every partition and leaves no trace at the broker.

    With a group it goes on where the group has committed, and begins at `start` where it has not. A record
    counts as done, and is committed, when the next one is asked for.
    """

    def __init__(
        self,
        settings: Settings,
        topics: Sequence[str] = (),
        *,
        pattern: str | None = None,
        start: Start = LATEST,
        group: str | None = None,
        until_end: bool = False,
        limit: int | None = None,
    ) -> None:
        self._settings = settings
        self._start = start
        self._group = group
        self._until_end = until_end
        self._limit = limit
        self._stopping = False
        self._admin = admin_client(settings)
        self.topics = find_topics(settings, self._admin, topics, pattern)
        self._pattern = pattern
        self._span: dict[Partition, tuple[int, int]] = {}  # begin and end of each partition
        self._ended: set[Partition] = set()
        self._consumer = Consumer(self._config())

    def __enter__(self) -> Self:
        try:
            self._span = resolve(self._settings, self._admin, partitions_of(self.topics), self._start)
            if self._group is None:
                self._consumer.assign([_at(each, begin) for each, (begin, _) in self._span.items()])
                self._ended = {each for each, (begin, end) in self._span.items() if begin >= end}
            else:
                self._consumer.subscribe(self._subscription(), on_assign=self._on_assign)
        except BaseException:
            self._consumer.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def __iter__(self) -> Iterator[Record]:
        taken = 0
        while not (self._stopping or taken == self._limit or self._at_end()):
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None or not self._is_record(message):
                continue
            taken += 1
            yield record_of(message)
            if self._group is not None:
                self._consumer.store_offsets(message=message)

    def stop(self) -> None:
        """End the iteration soon; may be called from a signal handler or another thread."""
        self._stopping = True

    def _config(self) -> dict[str, object]:
        return common_config(self._settings, "strom-consumer") | {
            "group.id": self._group or "strom-without-group",
            "enable.auto.commit": self._group is not None,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
        }

    def _subscription(self) -> list[str]:
        # librdkafka takes a name that starts with ^ for a pattern, which also finds topics made later.
        return [*self.topics] if self._pattern is None else [*self._named(), f"^({self._pattern})$"]

    def _named(self) -> list[str]:
        return [name for name in self.topics if not re.fullmatch(self._pattern or "", name)]

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._ended.clear()
        for each in consumer.committed(partitions, timeout=ANSWER_SECONDS):
            place = (each.topic, each.partition)
            if each.offset < 0 and place in self._span:
                each.offset = self._span[place][0]
            for assigned in partitions:
                if (assigned.topic, assigned.partition) == place:
                    assigned.offset = each.offset
        consumer.assign(partitions)

    def _at_end(self) -> bool:
        if not self._until_end:
            return False
        if self._group is None:
            return self._ended.issuperset(self._span)
        assigned = {(each.topic, each.partition) for each in self._consumer.assignment()}
        return bool(assigned) and self._ended.issuperset(assigned)

    def _is_record(self, message: Message) -> bool:
        """Keep the books on partition ends; raises what a person can mend."""
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None:
            return self._within_end(place, message.offset() or 0)
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add(place)
        elif error.fatal() or not error.retriable():
            self._raise_unless_passing(error)
        return False

    def _within_end(self, place: Partition, offset: int) -> bool:
        if not self._until_end or place not in self._span:
            return True
        end = self._span[place][1]
        if offset >= end - 1:
            self._ended.add(place)
        return offset < end

    def _raise_unless_passing(self, error: KafkaError) -> None:
        # A broker that is away for a while comes back; a topic or right that is gone does not.
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
            return
        if error.code() == KafkaError._AUTHENTICATION:
            raise as_strom_error(self._settings, "let Strom in", KafkaException(error))
        raise refused("read on", error)


def _at(place: Partition, offset: int) -> TopicPartition:
    return TopicPartition(place[0], place[1], offset)


def record_of(message: Message) -> Record:
    kind, at_ms = message.timestamp()
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return Record(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs),
        at_ms=None if kind == _TIMESTAMP_NOT_AVAILABLE else at_ms,
    )
