"""Gives messages to the client, and waits where it has no room for more: a sender is held up, and nothing is dropped."""

import asyncio

from confluent_kafka import KafkaException
from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.streams.answers import Answers
from strom.streams.client import error_of
from strom.streams.delivery import DeliveryFuture
from strom.streams.outgoing import Outgoing, Piece
from strom.streams.refusals import Refusals

_FULL_SECONDS = 0.1  # for the client's queue to have room again
_BROKEN_OFF = "It was not handed over: its sender was stopped while too much was under way; send it again."


class Handover:
    def __init__(self, client: Client, answers: Answers, refusals: Refusals) -> None:
        self._client = client
        self._answers = answers
        self._refusals = refusals

    def give(self, message: Outgoing) -> DeliveryFuture:
        future = self._answers.expect(len(message.pieces), self._refusals.of_delivery)
        try:
            for piece in message.pieces:
                while not self._taken(message, piece, future):
                    self._answers.take(_FULL_SECONDS)
        except BaseException as error:
            self._give_up(future, error)
            raise
        self._answers.take()
        return future

    async def give_async(self, message: Outgoing) -> DeliveryFuture:
        """The same, while the event loop goes on."""
        future = self._answers.expect(len(message.pieces), self._refusals.of_delivery)
        try:
            for piece in message.pieces:
                while not self._taken(message, piece, future):
                    await asyncio.to_thread(self._answers.take, _FULL_SECONDS)
        except BaseException as error:
            self._give_up(future, error)
            raise
        self._answers.take()
        return future

    def _taken(self, message: Outgoing, piece: Piece, future: DeliveryFuture) -> bool:
        """Whether the client has taken this piece; False where too much is under way already."""
        value, more = piece
        try:
            self._client.produce(
                message.topic,
                value,
                message.key,
                message.partition,
                on_delivery=future.delivered,
                timestamp=message.at_ms,
                headers=[*message.headers, *more],
            )
        except BufferError:
            return False
        except KafkaException as error:
            raise self._refusals.of_delivery(error_of(error), message.topic) from None
        return True

    def _give_up(self, future: DeliveryFuture, error: BaseException) -> None:
        """Not all of it was handed over, so Kafka never answers for it: nobody is to wait for that."""
        # Whoever sends hears of it here and now; but what is raised where a delivery calls back, nobody hears.
        future.asked = not self._answers.is_calling_back
        future.fail(error if isinstance(error, StromError) else StromError(_BROKEN_OFF))
