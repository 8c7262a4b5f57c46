"""Messages on their way to Kafka: bounded in number, confirmed by all replicas, answered for one by one.

Confirmations are taken on the event loop itself, some hundred times a second while messages are under way: no thread
has to wake it for each. It knows no HTTP.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException, Producer

from strom.errors import StromError
from strom.ingest.gateway.alike_batch import AlikeBatch
from strom.ingest.gateway.answers import kafka_away, overloaded
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.batches import Batch
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.messages import Alike, Message, Messages
from strom.ingest.gateway.outcome import Outcome
from strom.ingest.gateway.producers import Producers
from strom.ingest.gateway.single import Single
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.partitioners import Partitioner

LOG = logging.getLogger("strom.gateway")

STOP_SECONDS = 10.0
_TICK, _SLOW_TICK = 0.001, 0.02
_SLOW_AFTER = 200  # ticks without a confirmation
_QUESTIONS_AT_ONCE = 4
_GRACE = 1.0  # after the client library's own time is over


_Said = TypeVar("_Said")


class _Books(Protocol[_Said]):
    """What Kafka has said of the messages of one request; `done` when it has said all."""

    count: int
    failed: int
    done: asyncio.Future[_Said]

    def hand_over(self, producer: Producer) -> None: ...

    def give_up(self) -> None: ...


class Sender:
    """`on_failure` is called when a message was not written: Kafka may be away. `arrays`: it gets nothing but large ones."""

    def __init__(
        self,
        settings: Settings,
        counters: Counters,
        background: Background,
        on_failure: Callable[[], None] = lambda: None,
        *,
        arrays: bool = False,
    ) -> None:
        self._arrays = arrays
        self._loop = asyncio.get_running_loop()
        self._limit = settings.gateway.inflight
        self._seconds = settings.gateway.send_seconds + _GRACE
        self._counters = counters
        self.threads = DaemonThreads(_QUESTIONS_AT_ONCE, counters)
        self._taking_reports = background.job("delivery reports")
        self._on_failure = on_failure
        self._partitioner = Partitioner(settings)
        self._by_area = settings.kafka.partitioner == "area"
        self._producers = Producers(settings)
        self._partitioner.use(self._producers)
        self._under_way: dict[_Books[Any], float] = {}  # until when they are waited for, by age
        self._ticking = False
        self._quiet = 0
        self._fatal = False

    async def send(self, messages: Messages) -> list[Outcome]:
        """Hand over all of them, in this order, and wait until Kafka has said what became of each."""
        if not messages:
            return []
        if isinstance(messages, Alike):
            await self._learn(messages.topic, 1)
            self._require_room(len(messages))
            return await self._hand_over(AlikeBatch(messages, self))
        for message in messages:
            if not self.is_ready_for(message):
                await self.get_ready_for(message)
        self._require_room(len(messages))
        return await self._hand_over(Batch(messages, self))

    def send_one(self, message: Message) -> "asyncio.Future[Outcome]":
        """The same for one message that it is ready for; most requests have no more, so it has as few steps as can be."""
        self._require_room(1)
        return self._hand_over(Single(message, self, self._loop.create_future()))

    def is_ready_for(self, message: Message) -> bool:
        """Whether nothing has to be asked about the topic's partitions before it is sent."""
        if message.partition >= 0:
            return self._knows(message.topic, message.partition + 1)
        return not self._by_area or self._partitioner.knows(message.topic)

    async def get_ready_for(self, message: Message) -> None:
        """Ask Kafka, while the loop goes on."""
        await self._learn(message.topic, message.partition + 1)

    def close(self) -> None:
        """What is under way has been waited for already, or its callers are gone."""
        self._producers.flush(STOP_SECONDS)

    def poll(self) -> int:
        """Take what the client library has to tell; also while nothing is under way, for its log."""
        try:
            return self._producers.poll()
        except KafkaException as error:  # one of them has failed for good
            self.notice(error_of(error))
            return 0

    def partition_for(self, message: Message) -> int:
        """The one that the caller asks for, else as everybody's records are spread."""
        if message.partition >= 0 or not self._by_area:
            return message.partition
        return self._partitioner.partition(message.topic, message.key)

    def partitions_for(self, alike: Alike) -> list[int]:
        return self._partitioner.fixed_all(alike.topic, alike.keys)

    def alone(self) -> Producer:
        return self._producers.alone()

    def settled(self, books: _Books[Any]) -> None:
        """Kafka has said all, or will not; whether anybody still waits for it or not."""
        del self._under_way[books]
        self._counters.in_flight -= books.count
        self._counters.written += books.count - books.failed
        self._counters.not_written += books.failed

    def notice(self, error: KafkaError) -> None:
        """A message has failed: is it Kafka, or this producer?"""
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        self._on_failure()

    def _require_room(self, count: int) -> None:
        if self._counters.in_flight + count > self._limit:
            raise overloaded(f"More than {self._limit:,} messages (gateway.inflight) would be under way")

    def _hand_over(self, books: _Books[_Said]) -> "asyncio.Future[_Said]":
        now = time.monotonic()
        producers = self._producers
        producer = producers.for_arrays(len(self._under_way), now) if self._arrays else producers.usual
        self._under_way[books] = now + self._seconds
        self._counters.in_flight += books.count
        books.hand_over(producer)
        if not self._ticking:
            self._ticking = True
            self._quiet = 0
            self._loop.call_later(_TICK, self._tick)
        return books.done

    def _knows(self, topic: str, partitions: int) -> bool:
        """Whether the producers know of so many, at least."""
        return self._partitioner.knows(topic) and self._partitioner.count(topic) >= partitions

    async def _learn(self, topic: str, partitions: int) -> None:
        if not self._knows(topic, partitions):
            try:
                await self.threads.run(
                    "the partitions of a topic", lambda: self._partitioner.learn(topic, max(partitions, 1))
                )
            except StromError as error:
                LOG.warning("how many partitions %s has cannot be found out: %s", topic, error)
                raise kafka_away() from None

    def _tick(self) -> None:
        self._ticking = False
        try:
            self._take_reports()
        except Exception as error:  # whatever it is, callers wait for the other reports
            pause = self._taking_reports.failed(error)
        else:
            self._taking_reports.succeeded()
            pause = _SLOW_TICK if self._quiet > _SLOW_AFTER else _TICK
        if self._under_way:
            self._ticking = True
            self._loop.call_later(pause, self._tick)

    def _take_reports(self) -> None:
        self._quiet = 0 if self.poll() else self._quiet + 1
        if self._fatal:
            self._begin_anew()
        self._give_up_late_ones()

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        while self._under_way:
            books, until = next(iter(self._under_way.items()))
            if until > now:
                break
            books.give_up()  # which takes them off the list

    def _begin_anew(self) -> None:
        """A producer that has failed for good is of no more use; what it still has is told as it answers for it."""
        LOG.error("the Kafka producer has failed for good; opening another one")
        self._producers.begin_anew()
        self._fatal = False
