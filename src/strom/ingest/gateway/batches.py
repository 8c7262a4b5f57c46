"""The books of one request: what Kafka has said of each of its messages."""

import asyncio
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.messages import NO_TIME, Alike, Message, Messages
from strom.ingest.gateway.outcome import LATE, Outcome, beginning, not_written, written
from strom.streams.client import error_of

# What Kafka says of all records of a batch, although one of them alone may be meant.
_OF_THE_BATCH = frozenset(
    {
        KafkaError._INVALID_DIFFERENT_RECORD,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
    }
)


class Way(Protocol):
    """What a batch asks of whoever sends it."""

    def partition_for(self, message: Message) -> int: ...

    def partitions_for(self, alike: Alike) -> Iterable[int]: ...

    def alone(self) -> Producer:
        """A producer that sends each message by itself."""
        ...

    def notice(self, error: KafkaError) -> None:
        """A message was not written."""
        ...


class Batch:
    """The messages of one request; `done` when each has its outcome."""

    def __init__(self, messages: Messages, way: Way, deadline: float) -> None:
        self.deadline = deadline
        self.done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.failed = 0
        self._way = way
        self._messages = messages
        self._outcomes: list[Outcome] = [LATE] * len(messages)
        self._left = len(messages)
        self._alone: set[int] = set()

    @staticmethod
    def of(messages: Messages, way: Way, deadline: float) -> "Batch":
        if isinstance(messages, Alike):
            return _AlikeBatch(messages, way, deadline)
        return Batch(messages, way, deadline)

    def hand_over(self, producer: Producer) -> None:
        for index, message in enumerate(self._messages):
            self._produce(producer, index, message)

    def give_up(self) -> None:
        """As late as this even the client library has forgotten them."""
        self.failed += self._left
        self._settle()

    def _produce(self, producer: Producer, index: int, message: Message) -> None:
        topic, value, key, _, timestamp, headers = message
        try:
            partition = self._way.partition_for(message)
            producer.produce(
                topic, value, key, partition, partial(self._reported, index), None, timestamp, headers
            )
        except (BufferError, KafkaException, StromError) as error:
            self._failed(index, _kafka_error(error))

    def _reported(self, index: int, error: KafkaError | None, report: Report) -> None:
        if error is not None:
            self._failed(index, error)
            return
        self._outcomes[index] = written(report)
        self._left -= 1
        if not self._left:
            self._settle()

    def _failed(self, index: int, error: KafkaError) -> None:
        """Kafka refuses a whole batch for one record in it: each goes again by itself, perhaps one of another caller."""
        if error.code() in _OF_THE_BATCH and index not in self._alone:
            self._alone.add(index)
            self._produce(self._way.alone(), index, self._messages[index])
            return
        self._way.notice(error)
        self._outcomes[index] = not_written(error)
        self.failed += 1
        self._left -= 1
        if not self._left:
            self._settle()

    def _settle(self) -> None:
        if not self.done.done():
            self.done.set_result(self._outcomes)


class _AlikeBatch(Batch):
    """One callback for all messages, which is half the work: whose report it is, is told by its key.

    Messages of one key go to one partition, and what is written there is reported in the order in which it was handed
    over: so the second report of a key is that of its second message. What is not written may be reported before what
    was sent earlier; from the first such report on, the value tells whose it is.
    """

    def __init__(self, alike: Alike, way: Way, deadline: float) -> None:
        super().__init__(alike, way, deadline)
        self._alike = alike
        self._next, self._following = _by_key(alike.keys)
        self._in_order = True

    def hand_over(self, producer: Producer) -> None:
        topic, values, keys, headers = (
            self._alike.topic,
            self._alike.values,
            self._alike.keys,
            self._alike.headers,
        )
        try:
            partitions = self._way.partitions_for(self._alike)
        except StromError as error:
            for index in range(len(keys)):
                self._failed(index, _kafka_error(error))
            return
        produce, came = producer.produce, self._receiver()
        refused: dict[int, KafkaError] = {}
        for index, (value, key, partition) in enumerate(zip(values, keys, partitions, strict=False)):
            try:
                produce(topic, value, key, partition, came, None, NO_TIME, headers)
            except (BufferError, KafkaException) as error:
                refused[index] = _kafka_error(error)
        if refused:  # no report has come yet
            self._next, self._following = _by_key(keys, refused)
            for index, why in refused.items():
                self._failed(index, why)

    def _receiver(self) -> Callable[[KafkaError | None, Report], None]:
        """Called for every message, so all that it needs is at hand, and what `written` does is done in place."""
        outcomes, head = self._outcomes, beginning(self._alike.topic)

        def came(error: KafkaError | None, report: Report) -> None:
            if error is not None:
                self._in_order = False
                self._failed(self._by_value(report), error)
                return
            if self._in_order:
                key = report.key() or b""
                first = self._next
                index = first[key]
                first[key] = self._following[index]
            else:
                index = self._by_value(report)
            outcomes[index] = (
                f'{head}{report.partition()},"offset":{report.offset()},"timestamp":{report.timestamp()[1]}}}'
            )
            self._left -= 1
            if not self._left:
                self._settle()

        return came

    def _by_value(self, report: Report) -> int:
        """The first message of this key and value that has no report yet; of two that are the same, either will do."""
        key, value = report.key() or b"", report.value() or b""
        before, index = -1, self._next[key]
        while self._alike.values[index].encode() != value:
            before, index = index, self._following[index]
        if before < 0:
            self._next[key] = self._following[index]
        else:
            self._following[before] = self._following[index]
        return index


def _by_key(keys: list[bytes], without: Container[int] = ()) -> tuple[dict[bytes, int], list[int]]:
    """The index of the first message of each key, and for each message that of the next one of its key."""
    first: dict[bytes, int] = {}
    following = [-1] * len(keys)
    for index in range(len(keys) - 1, -1, -1):
        if index not in without:
            key = keys[index]
            following[index] = first.get(key, -1)
            first[key] = index
    return first, following


def _kafka_error(error: BufferError | KafkaException | StromError) -> KafkaError:
    if isinstance(error, BufferError):
        return KafkaError(KafkaError._QUEUE_FULL)
    if isinstance(error, KafkaException):
        return error_of(error)
    return KafkaError(KafkaError._TRANSPORT)  # nobody tells how many partitions there are
