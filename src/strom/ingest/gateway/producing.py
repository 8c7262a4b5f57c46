"""Messages on their way to Kafka: bounded in number, confirmed by all replicas, answered for one by one.

Confirmations are taken on the event loop itself, some hundred times a second while messages are under way: no thread
has to wake it for each. It knows no HTTP.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, Producer

from strom.errors import StromError
from strom.ingest.gateway.alike_batch import AlikeBatch
from strom.ingest.gateway.answers import kafka_away, overloaded
from strom.ingest.gateway.batches import Batch
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.messages import Alike, Message, Messages
from strom.ingest.gateway.outcome import Outcome
from strom.ingest.gateway.producers import Producers
from strom.settings import Settings
from strom.streams.partitioners import Partitioner

LOG = logging.getLogger("strom.gateway")

STOP_SECONDS = 10.0
_TICK, _SLOW_TICK = 0.001, 0.02
_SLOW_AFTER = 200  # ticks without a confirmation
_GRACE = 1.0  # after the client library's own time is over


class Sender:
    """`on_failure` is called when a message was not written: Kafka may be away. `arrays`: it gets nothing but large ones."""

    def __init__(
        self,
        settings: Settings,
        counters: Counters,
        on_failure: Callable[[], None] = lambda: None,
        *,
        arrays: bool = False,
    ) -> None:
        self._arrays = arrays
        self._limit = settings.gateway.inflight
        self._seconds = settings.gateway.send_seconds + _GRACE
        self._counters = counters
        self._on_failure = on_failure
        self._partitioner = Partitioner(settings)
        self._producers = Producers(settings)
        self._partitioner.use(self._producers)
        self._under_way: dict[int, Batch] = {}  # by age
        self._number = 0
        self._ticking = False
        self._quiet = 0
        self._fatal = False

    async def send(self, messages: Messages) -> list[Outcome]:
        """Hand over all of them, in this order, and wait until Kafka has said what became of each."""
        count = len(messages)
        if not count:
            return []
        if isinstance(messages, Alike):
            await self._learn_partitions(messages.topic)
        if self._counters.in_flight + count > self._limit:
            raise overloaded(f"More than {self._limit:,} messages (gateway.inflight) would be under way")
        deadline = time.monotonic() + self._seconds
        if isinstance(messages, Alike):
            batch: Batch = AlikeBatch(messages, self, deadline)
        else:
            batch = Batch(messages, self, deadline)
        producer = self._producer()
        self._number = number = self._number + 1
        self._under_way[number] = batch
        self._counters.in_flight += count
        try:
            batch.hand_over(producer)
            self._tick_soon()
            outcomes = await batch.done
        finally:
            del self._under_way[number]
            self._counters.in_flight -= count
        self._counters.written += count - batch.failed
        self._counters.not_written += batch.failed
        return outcomes

    def close(self) -> None:
        """What is under way has been waited for already, or its callers are gone."""
        self._producers.flush(STOP_SECONDS)

    def poll(self) -> int:
        """Take what the client library has to tell; also while nothing is under way, for its log."""
        return self._producers.poll()

    def partition_for(self, message: Message) -> int:
        """The one that the caller asks for, else as everybody's records are spread."""
        asked = message.partition
        return asked if asked >= 0 else self._partitioner.partition(message.topic, message.key)

    def partitions_for(self, alike: Alike) -> list[int]:
        return self._partitioner.fixed_all(alike.topic, alike.keys)

    def alone(self) -> Producer:
        return self._producers.alone()

    def notice(self, error: KafkaError) -> None:
        """A message has failed: is it Kafka, or this producer?"""
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        self._on_failure()

    async def _learn_partitions(self, topic: str) -> None:
        """Kafka is asked once, while the loop goes on."""
        if not self._partitioner.knows(topic):
            try:
                await asyncio.to_thread(self._partitioner.count, topic)
            except StromError as error:
                LOG.warning("how many partitions %s has cannot be found out: %s", topic, error)
                raise kafka_away() from None

    def _producer(self) -> Producer:
        """For what is now to be sent."""
        if not self._arrays:
            return self._producers.for_messages()
        return self._producers.for_arrays(len(self._under_way), time.monotonic())

    def _tick_soon(self) -> None:
        if not self._ticking:
            self._ticking = True
            self._quiet = 0
            asyncio.get_running_loop().call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._ticking = False
        self._quiet = 0 if self.poll() else self._quiet + 1
        if self._fatal:
            self._begin_anew()
        if self._under_way:
            self._give_up_late_ones()
            pause = _SLOW_TICK if self._quiet > _SLOW_AFTER else _TICK
            self._ticking = True
            asyncio.get_running_loop().call_later(pause, self._tick)

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        for batch in self._under_way.values():
            if batch.deadline > now:
                break
            batch.give_up()

    def _begin_anew(self) -> None:
        """A producer that has failed for good is of no more use; what it still has is told as unknown."""
        LOG.error("the Kafka producer has failed for good; opening another one")
        self._producers.begin_anew()
        self._fatal = False
