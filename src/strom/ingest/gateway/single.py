"""The books of a request with one message: as a batch of one, with the least that this needs."""

import asyncio

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.batches import Way, kafka_error, may_be_written_alone
from strom.ingest.gateway.messages import Message
from strom.ingest.gateway.outcome import LATE, Outcome, not_written, written


class Single:
    """`done` when the message has its outcome."""

    __slots__ = ("_is_alone", "_is_settled", "_message", "_way", "done", "failed")

    count = 1

    def __init__(self, message: Message, way: Way, done: "asyncio.Future[Outcome]") -> None:
        self.done = done
        self.failed = 0
        self._way = way
        self._message = message
        self._is_alone = False
        self._is_settled = False

    def hand_over(self, producer: Producer) -> None:
        message = self._message
        topic, value, key, _, timestamp, headers = message
        try:
            partition = self._way.partition_for(message)
            producer.produce(topic, value, key, partition, self._reported, None, timestamp, headers)
        except (BufferError, KafkaException, StromError) as error:
            self._failed(kafka_error(error))

    def give_up(self) -> None:
        """As late as this even the client library has forgotten it."""
        self.failed = 1
        self._settle(LATE)

    def _reported(self, error: KafkaError | None, report: Report) -> None:
        if self._is_settled:
            return  # it was given up
        if error is not None:
            self._failed(error)
        else:
            self._settle(written(report))

    def _failed(self, error: KafkaError) -> None:
        """Kafka may mean another record of the same batch: this one goes again by itself."""
        if not self._is_alone and may_be_written_alone(self._message, error):
            self._is_alone = True
            self.hand_over(self._way.alone())
            return
        self._way.notice(error)
        self.failed = 1
        self._settle(not_written(error))

    def _settle(self, outcome: Outcome) -> None:
        self._is_settled = True
        self._way.settled(self)
        if not self.done.done():  # by whoever has given up waiting
            self.done.set_result(outcome)
