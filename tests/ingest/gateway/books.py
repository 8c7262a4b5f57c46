"""What books of messages deal with, in the test's hands: a producer that keeps what is to be called, and who sends them."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.messages import Alike, Message

Called = Callable[[KafkaError | None, Report], None]
OUR_TIME = TIMESTAMP_CREATE_TIME
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)
GONE = KafkaError(KafkaError._UNKNOWN_PARTITION)


class Handed:
    """Takes messages as a producer does, and keeps what is to be called."""

    def __init__(self, room: int = 99, time: int = OUR_TIME) -> None:
        self.messages: list[tuple[Called, int, bytes, bytes]] = []
        self.sent_at = 0
        self._room = room
        self._time = time

    def produce(
        self,
        _: str,
        value: str | bytes,
        key: bytes,
        partition: int,
        called: Any,
        __: None,
        timestamp: int,
        *___: Any,
    ) -> None:
        if len(self.messages) == self._room:
            raise BufferError
        self.sent_at = timestamp
        self.messages.append((called, partition, key, value.encode() if isinstance(value, str) else value))

    def report(self, index: int, offset: int, error: KafkaError | None = None) -> None:
        called, partition, key, value = self.messages[index]
        report = Report(
            topic="t",
            key=key,
            value=value,
            partition=max(partition, 0),  # the client library's choice
            offset=offset,
            error=error,
            timestamp=(self._time, self.sent_at if self._time == OUR_TIME else 7000 + offset),
        )
        called(error, report)


class Way:
    """Keys that begin with a capital go to the second partition."""

    def __init__(self) -> None:
        self.one_by_one = Handed()
        self.knows_partitions = True
        self.noticed: list[KafkaError] = []
        self.settled_books: list[Any] = []

    def partition_for(self, _: Message) -> int:
        return -1

    def partitions_for(self, alike: Alike) -> list[int]:
        if not self.knows_partitions:
            raise StromError("no broker")
        return [int(key[:1].isupper()) for key in alike.keys]

    def alone(self) -> Any:
        return self.one_by_one

    def notice(self, error: KafkaError) -> None:
        self.noticed.append(error)

    def settled(self, books: Any) -> None:
        self.settled_books.append(books)
