"""What becomes of one message that was sent: where it lies, or why it was not written. It sends nothing."""

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Message

from strom.errors import StromError

_COUNTING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where Kafka has put a message."""

    topic: str
    partition: int
    offset: int | None  # of a message in parts that of the last; None without acknowledgements
    at_ms: int | None  # its time, epoch ms
    parts: int = 1


class DeliveryFuture(Future[Delivery]):
    """A future of `concurrent.futures` that can also be awaited; fails with a StromError.

    A failure that nobody asks for is told when its producer is flushed.
    """

    def __init__(
        self,
        parts: int,
        explain: Callable[[KafkaError, str], StromError],
        *,
        on_settled: Callable[["DeliveryFuture", StromError | None], None],
        on_asked: Callable[[], None],
    ) -> None:
        super().__init__()
        self.asked = False
        self._parts = parts
        self._missing = parts
        self._settled = False
        self._explain = explain
        self._on_settled = on_settled
        self._on_asked = on_asked

    def cancel(self) -> bool:
        """What was sent cannot be cancelled."""
        return False

    def result(self, timeout: float | None = None) -> Delivery:
        self._ask()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._ask()
        return super().exception(timeout)

    def __await__(self) -> Generator[Any, None, Delivery]:
        self._ask()
        return asyncio.wrap_future(self).__await__()

    def _ask(self) -> None:
        self.asked = True
        if not self.done():
            self._on_asked()

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Kafka has answered for one of its parts; the answers of two may come on two threads."""
        with _COUNTING:
            self._missing -= 1
            if self._settled or (error is None and self._missing):
                return
            self._settled = True
        if error is None:
            self.set_result(_delivery(message, self._parts))
            self._on_settled(self, None)
        else:
            self._fail(self._explain(error, message.topic() or ""))

    def fail(self, why: StromError) -> None:
        """It will not be written, whatever Kafka may still say."""
        with _COUNTING:
            if self._settled:
                return
            self._settled = True
        self._fail(why)

    def _fail(self, why: StromError) -> None:
        self.set_exception(why)
        self._on_settled(self, why)


def _delivery(message: Message, parts: int) -> Delivery:
    offset, (_, at_ms) = message.offset(), message.timestamp()
    return Delivery(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=offset if offset is not None and offset >= 0 else None,
        at_ms=at_ms if at_ms >= 0 else None,
        parts=parts,
    )
