"""Messages on their way to Kafka: bounded in number, confirmed by all replicas, answered for one by one.

Confirmations are taken on the event loop itself, some hundred times a second while messages are under way: no thread
has to wake it for each. It knows no HTTP.
"""

import asyncio
import logging
import time
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.answers import overloaded
from strom.ingest.gateway.bodies import Message
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.directory import Directory
from strom.ingest.gateway.outcome import LATE, Outcome, not_written
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.partitioners import Partitioner
from strom.streams.producer import open_producer

LOG = logging.getLogger("strom.gateway")

NAME = "strom-gateway"
STOP_SECONDS = 10.0
_TICK, _SLOW_TICK = 0.001, 0.02
_SLOW_AFTER = 200  # ticks without a confirmation
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
_GRACE = 1.0  # after the client library's own time is over


class Sender:
    def __init__(self, settings: Settings, counters: Counters, directory: Directory) -> None:
        self._settings = settings
        self._limit = settings.gateway.inflight
        self._seconds = settings.gateway.send_seconds + _GRACE
        self._counters = counters
        self._directory = directory
        self._partitioner = Partitioner(settings)
        self._producer = self._open()
        self._partitioner.use(self._producer)  # it knows a new partition before anything goes there
        self._single: Producer | None = None  # sends each message in a batch of its own
        self._under_way: dict[int, _Batch] = {}  # by age
        self._number = 0
        self._ticking = False
        self._quiet = 0
        self._fatal = False

    async def send(self, messages: list[Message]) -> list[Outcome]:
        """Hand over all of them, in this order, and wait until Kafka has said what became of each."""
        count = len(messages)
        if not count:
            return []
        if self._counters.in_flight + count > self._limit:
            raise overloaded(f"More than {self._limit:,} messages (gateway.inflight) would be under way")
        batch = _Batch(self, messages, time.monotonic() + self._seconds)
        self._number = number = self._number + 1
        self._under_way[number] = batch
        self._counters.in_flight += count
        try:
            batch.hand_over(self._producer)
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
        for producer in filter(None, (self._producer, self._single)):
            producer.flush(STOP_SECONDS)

    def poll(self) -> int:
        """Take what the client library has to tell; also while nothing is under way, for its log."""
        taken = self._producer.poll(0)
        return taken if self._single is None else taken + self._single.poll(0)

    def partition_for(self, message: Message) -> int:
        """The one that the caller asks for, else as everybody's records are spread."""
        asked = message.partition
        return asked if asked >= 0 else self._partitioner.partition(message.topic, message.key)

    def alone(self) -> Producer:
        if self._single is None:
            self._single = self._open(**{"batch.num.messages": 1})
        return self._single

    def notice(self, error: KafkaError) -> None:
        """A message has failed: is it Kafka, or this producer?"""
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        self._directory.doubt()

    def _open(self, **more: int) -> Producer:
        # A message that is given up is told to its caller, who knows whether to send it again.
        limits = {
            "message.timeout.ms": round(self._settings.gateway.send_seconds * 1000),
            "queue.buffering.max.messages": 2 * self._limit,
        }
        return open_producer(self._settings, NAME, **limits | more)

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
        self._producer.purge(in_queue=True, in_flight=True, blocking=False)
        self._producer.poll(0)
        self._producer, self._fatal = self._open(), False
        self._partitioner.use(self._producer)


class _Batch:
    """The messages of one request; `done` when each has its outcome."""

    def __init__(self, sender: Sender, messages: list[Message], deadline: float) -> None:
        self.deadline = deadline
        self.done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.failed = 0
        self._sender = sender
        self._messages = messages
        self._outcomes: list[Outcome] = [LATE] * len(messages)
        self._left = len(messages)
        self._alone: set[int] = set()

    def hand_over(self, producer: Producer) -> None:
        for index, message in enumerate(self._messages):
            self._produce(producer, index, message)

    def give_up(self) -> None:
        """As late as this even the client library has forgotten them."""
        self.failed += self._left
        if not self.done.done():
            self.done.set_result(self._outcomes)

    def _produce(self, producer: Producer, index: int, message: Message) -> None:
        topic, value, key, _, timestamp, headers = message
        try:
            partition = self._sender.partition_for(message)
            producer.produce(
                topic, value, key, partition, partial(self._reported, index), None, timestamp, headers
            )
        except BufferError:
            self._failed(index, KafkaError(KafkaError._QUEUE_FULL))
        except KafkaException as error:
            self._failed(index, error_of(error))
        except StromError:  # nobody tells how many partitions there are
            self._failed(index, KafkaError(KafkaError._TRANSPORT))

    def _reported(self, index: int, error: KafkaError | None, report: Report) -> None:
        if error is not None:
            self._failed(index, error)
            return
        self._outcomes[index] = report
        self._left -= 1
        if not self._left:
            self._settle()

    def _failed(self, index: int, error: KafkaError) -> None:
        """Kafka refuses a whole batch for one record in it: each goes again by itself, perhaps one of another caller."""
        if error.code() in _OF_THE_BATCH and index not in self._alone:
            self._alone.add(index)
            self._produce(self._sender.alone(), index, self._messages[index])
            return
        self._sender.notice(error)
        self._outcomes[index] = not_written(error)
        self.failed += 1
        self._left -= 1
        if not self._left:
            self._settle()

    def _settle(self) -> None:
        if not self.done.done():
            self.done.set_result(self._outcomes)
