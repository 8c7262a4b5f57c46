"""The books of one request: what Kafka has said of each of its messages."""

import asyncio
from functools import partial
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.messages import ANY_PARTITION, Message, Messages
from strom.ingest.gateway.outcome import LATE, Outcome, not_written, written
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

    def alone(self) -> Producer:
        """A producer that sends each message by itself."""
        ...

    def notice(self, error: KafkaError) -> None:
        """A message was not written."""
        ...

    def settled(self, books: Any) -> None:
        """All that these books are about has its outcome; said once."""
        ...


class Batch:
    """The messages of one request; `done` when each has its outcome."""

    def __init__(self, messages: Messages, way: Way) -> None:
        self.count = len(messages)
        self.done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.failed = 0
        self._way = way
        self._messages = messages
        self._outcomes: list[Outcome] = [LATE] * len(messages)
        self._left = len(messages)
        self._alone: set[int] = set()
        self._is_settled = False

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
            self._failed(index, kafka_error(error))

    def _reported(self, index: int, error: KafkaError | None, report: Report) -> None:
        if self._is_settled:
            return  # it was given up
        if error is not None:
            self._failed(index, error)
            return
        self._outcomes[index] = written(report)
        self._left -= 1
        if not self._left:
            self._settle()

    def _failed(self, index: int, error: KafkaError) -> None:
        """Kafka refuses a whole batch for one record in it: each goes again by itself, perhaps one of another caller."""
        if index not in self._alone and may_be_written_alone(self._messages[index], error):
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
        self._is_settled = True
        self._way.settled(self)
        if not self.done.done():  # by whoever has given up waiting
            self.done.set_result(self._outcomes)


def may_be_written_alone(message: Message, error: KafkaError) -> bool:
    """Whether the fault may be another record's."""
    if error.code() == KafkaError._UNKNOWN_PARTITION:  # nobody asked for it if the topic was made anew
        return message.partition == ANY_PARTITION
    return error.code() in _OF_THE_BATCH


def kafka_error(error: BufferError | KafkaException | StromError) -> KafkaError:
    if isinstance(error, BufferError):
        return KafkaError(KafkaError._QUEUE_FULL)
    if isinstance(error, KafkaException):
        return error_of(error)
    return KafkaError(KafkaError._TRANSPORT)  # nobody tells how many partitions there are
