"""A reader's line to Kafka: which partitions it is given, where it goes on in each, what its group commits.

It hands out one record at a time, as it lies, and does not know what its reader makes of it.
"""

import logging
import time
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.client import (
    ANSWER_SECONDS,
    UNREACHABLE,
    as_strom_error,
    common_config,
    error_of,
    passes,
    refused,
)
from strom.streams.closing import close_later, close_within
from strom.streams.offsets import Partition
from strom.streams.reach import Reach
from strom.streams.record import Record, record_of

LOG = logging.getLogger("strom.streams")
_SEEK_SECONDS = 10.0
_SEEK_PAUSE = 0.05
_COMMITTED_SECONDS = 60.0  # a broker may take so long to come back
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)


class Subscription:
    def __init__(
        self,
        settings: Settings,
        reach: Reach,
        group: str | None,
        on_gone: Callable[[Partition], None],
        *,
        auto_commit: bool,
    ) -> None:
        """`on_gone` hears of partitions that were taken away, or will be read from elsewhere."""
        self._settings = settings
        self._reach = reach
        self._group = group
        self._on_gone = on_gone
        self.assigned: set[Partition] = set()  # what is read here at this moment
        self._client = Client(_config(settings, group, auto_commit))

    def open(self) -> None:
        try:
            self._reach.measure()
            self._join(self._reach.partitions)
        except BaseException:
            close_later(self._name, self._client.close, LOG)
            raise

    def close(self) -> None:
        """What was stored is committed; a client that does not close is given up."""
        close_within(self._name, self._client.close, LOG)

    @property
    def _name(self) -> str:
        return "a consumer" if self._group is None else f"a consumer of the group {self._group}"

    def poll(self, seconds: float) -> Record | None:
        """The next record, if one comes within this time; raises what a person can mend."""
        try:
            message = self._client.poll(seconds)
        except KafkaException as error:
            raise as_strom_error(self._settings, "read on", error) from None
        return record_of(message) if message is not None and self._is_record(message) else None

    def look(self) -> None:
        """Now and then: take in topics that match since, and partitions that were added."""
        if self._group is None or self._reach.pattern is not None:
            fresh = self._reach.look()
            if fresh:
                self._join(fresh)

    def store(self, place: Partition, offset: int) -> None:
        """The client commits it in a moment."""
        self._client.store_offsets(offsets=[_at(place, offset)])

    def commit(self, places: Mapping[Partition, int]) -> None:
        """Wait until the group goes on there; a partition that another one reads now is refused."""
        for place in places:
            if place not in self.assigned:
                raise StromError(f"{_text(place)} is read by another of the group now, and again from there.")
        offsets = [_at(place, offset) for place, offset in places.items()]
        try:
            answers = self._client.commit(offsets=offsets, asynchronous=False) if offsets else []
        except KafkaException as error:
            raise as_strom_error(self._settings, "commit", error) from None
        for each in answers or ():
            if each.error is not None:
                raise refused(f"commit {_text((each.topic, each.partition))}", each.error)

    def seek(self, place: Partition, offset: int) -> None:
        """Go on there."""
        self._on_gone(place)
        self._reach.move(place, offset)
        deadline = time.monotonic() + _SEEK_SECONDS
        while True:
            try:
                self._client.seek(_at(place, offset))
                return
            except KafkaException as error:
                # A partition that was assigned a moment ago cannot be told yet.
                if error_of(error).code() != KafkaError._STATE or time.monotonic() > deadline:
                    raise as_strom_error(self._settings, f"go on at {_text(place)}", error) from None
            time.sleep(_SEEK_PAUSE)

    def _join(self, fresh: list[Partition]) -> None:
        if self._group is None:
            self._client.incremental_assign([_at(each, self._reach.begin[each]) for each in fresh])
            self.assigned.update(fresh)
        elif self._reach.topics:
            self._client.subscribe(
                [*self._reach.topics],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_revoke,
            )

    def _on_assign(self, client: Client, partitions: list[TopicPartition]) -> None:
        self._reach.forget_ends()
        for each in self._committed(client, partitions):
            place = (each.topic, each.partition)
            if each.offset < 0 and place in self._reach.begin:
                each.offset = self._reach.begin[place]
            for assigned in partitions:
                if (assigned.topic, assigned.partition) == place:
                    assigned.offset = each.offset
        client.assign(partitions)
        self.assigned = {(each.topic, each.partition) for each in partitions}

    def _committed(self, client: Client, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Where the group stands; a broker that has just come back does not know it at once."""
        deadline = time.monotonic() + _COMMITTED_SECONDS
        while True:
            try:
                return client.committed(partitions, timeout=ANSWER_SECONDS)
            except KafkaException as error:
                found = error_of(error)
                passing = passes(found) or found.code() in UNREACHABLE
                if not passing or time.monotonic() > deadline:
                    raise as_strom_error(self._settings, "tell where the group stands", error) from None
            time.sleep(_SEEK_PAUSE)

    def _on_revoke(self, client: Client, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self.assigned.discard((each.topic, each.partition))
            self._on_gone((each.topic, each.partition))

    def _is_record(self, message: Message) -> bool:
        """Keep the books on partition ends."""
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is None:
            return self._reach.holds(place, message.offset() or 0)
        if error.code() == KafkaError._PARTITION_EOF:
            self._reach.note_end(place)
        elif error.fatal() or not error.retriable():
            self._raise_unless_passing(error)
        return False

    def _raise_unless_passing(self, error: KafkaError) -> None:
        # A broker that is away for a while comes back; a topic or right that is gone does not.
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
            return
        if error.code() in _GONE and self._reach.pattern is not None:
            return  # topics of a pattern may come, and go
        raise as_strom_error(self._settings, "read on", KafkaException(error))


def _config(settings: Settings, group: str | None, auto_commit: bool) -> dict[str, object]:
    return common_config(settings, "strom-consumer") | {
        "group.id": group or "strom-without-group",
        "enable.auto.commit": group is not None and auto_commit,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
    }


def _at(place: Partition, offset: int) -> TopicPartition:
    return TopicPartition(place[0], place[1], offset)


def _text(place: Partition) -> str:
    return f"{place[0]}/{place[1]}"
