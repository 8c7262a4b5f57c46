"""How Strom writes to Kafka: confirmed by all replicas, no duplicates of its own, in order per key, unless asked otherwise.

`open_producer` is the bare client for parts that keep their own books; `Producer` is for people: a future for each
message, large ones in parts, transactions.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, Self

from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.answers import Answers
from strom.streams.choices import LINGER_MS, TIMEOUT_SECONDS, Acks, Choices, Compression
from strom.streams.client import common_config
from strom.streams.delivery import DeliveryFuture
from strom.streams.handover import Handover
from strom.streams.outgoing import Headers, Outgoing, at_ms, pieces_of
from strom.streams.partitioners import Partitioner
from strom.streams.refusals import Refusals, TakenOverError
from strom.streams.topics import MAX_MESSAGE_BYTES
from strom.streams.transaction import Transactions

_HURRY_SECONDS = 5.0  # for what is under way when the block ended by an exception


def producer_config(settings: Settings, name: str) -> dict[str, Any]:
    """Never gives up on a record by itself: an hour without Kafka is an hour of waiting, not a loss."""
    return common_config(settings, name) | {
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "linger.ms": LINGER_MS,
        "message.timeout.ms": 0,
        "message.max.bytes": MAX_MESSAGE_BYTES,
        # The same key goes to the same partition as with Kafka's own clients.
        "partitioner": "murmur2_random",
    }


def open_producer(settings: Settings, name: str, **overrides: Any) -> Client:
    return Client(producer_config(settings, name) | overrides)


class Producer:
    """Sends messages; leaving its block waits until Kafka has them all.

    with Producer(load_settings()) as producer:
        future = producer.send("my-topic", "value", key="key")
        print(future.result().offset)

    Messages of one key stay in order. `sync` waits for each one. With `transactional` everything is sent within
    `with producer.transaction():` and is seen by others only when that block ends well.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        acks: Acks | Literal[0, 1] = "all",
        sync: bool = False,
        compression: Compression = "lz4",
        idempotent: bool | None = None,
        transactional: str | None = None,
        partitioner: Literal["key", "area"] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._settings = settings
        choices = Choices(str(acks), compression, idempotent, transactional, sync, timeout)
        self._choices = choices
        self._refusals = Refusals(settings, choices)
        if partitioner is not None:
            kafka = settings.kafka.model_copy(update={"partitioner": partitioner})
            settings = settings.model_copy(update={"kafka": kafka})
        self._partitioner = Partitioner(settings)
        self._client = open_producer(settings, "strom-producer", **choices.config())
        self._partitioner.use(self._client)
        self._transactions = Transactions(self._client, self._refusals.of, timeout)
        self._answers = Answers(self._client, self._refusals.of)
        self._handover = Handover(self._client, self._answers, self._refusals)
        self._turn = asyncio.Lock()  # of those who send in asyncio
        self._open = False

    def __enter__(self) -> Self:
        if self._choices.transactional is not None:
            self._transactions.init()
        self._answers.start()
        self._open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
            else:
                self._answers.wait(_HURRY_SECONDS)
        finally:
            self._open = False
            self._answers.close(_HURRY_SECONDS)

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await asyncio.to_thread(self.__exit__, kind)

    def send(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        *,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | datetime | None = None,
    ) -> DeliveryFuture:
        """Hand over one message; raises StromError for what cannot be sent at all, such as an unknown topic.

        It waits where too much is under way already, for Kafka to tell of a topic that is new to it, and for each
        message with `sync`: in asyncio there is `send_async`.
        """
        future = self._handover.give(self._outgoing(topic, value, key, headers, partition, timestamp))
        if self._choices.sync:
            self._answers.wait_for(future)
            future.result()
        return future

    async def send_async(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        *,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | datetime | None = None,
    ) -> DeliveryFuture:
        """As `send`, in asyncio: whatever it waits for, the event loop goes on meanwhile. Await the future for the answer.

        Of several tasks that send at once, each has its turn in the order in which they came.
        """
        given = topic, value, key, headers, partition, timestamp
        await asyncio.sleep(0)  # also one who only sends lets the others go on
        async with self._turn:
            if self._takes_long(topic, value):
                message = await asyncio.to_thread(self._outgoing, *given)
            else:
                message = self._outgoing(*given)
            future = await self._handover.give_async(message)
            if self._choices.sync:
                await future
        return future

    def check(self, topic: str, partition: int | None = None) -> None:
        """Refuse what `send` would refuse, before there is anything to send."""
        self._place(topic, None, partition, together=False)

    def flush(self) -> None:
        """Wait until Kafka has all, or has refused it: raises StromError for refusals that nobody asked about."""
        self._answers.wait()
        untold = self._answers.untold()
        if untold:
            raise StromError(
                f"Kafka did not write {len(untold):,} of the messages; the first: {untold[0]}", exit_code=1
            )

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Others see all that is sent in this block when it ends well, and nothing of it when it does not."""
        if self._choices.transactional is None:
            raise StromError(
                "Only a transactional producer has transactions: give it an id with transactional=…."
            )
        if self._answers.broken is not None:
            raise self._answers.broken
        failures = self._answers.failures
        self._transactions.begin()
        try:
            yield self
            self._answers.wait()
            self._transactions.commit(
                self._answers.last_failure if self._answers.failures > failures else None
            )
        except BaseException as error:
            if isinstance(error, TakenOverError):
                self._answers.broken = error
            elif self._answers.failures > failures:
                # The client library would number the messages of its next transaction wrongly.
                self._answers.broken = self._answers.broken or StromError(
                    "A message of this producer's last transaction was refused; open a new producer for the next."
                )
            self._transactions.abort()
            self._answers.wait(_HURRY_SECONDS)
            self._answers.untold()  # what is raised tells it
            raise

    def _check_state(self) -> None:
        if not self._open:
            raise StromError("A producer sends within its block: `with Producer(…) as producer:`.")
        if self._answers.broken is not None:
            raise self._answers.broken
        if self._choices.transactional is not None and not self._transactions.is_open:
            raise StromError("A transactional producer sends within `with producer.transaction():`.")

    def _takes_long(self, topic: str, value: bytes | str | None) -> bool:
        """Whether to make ready what is sent means to ask Kafka, or to go through a value that is large."""
        large = value is not None and len(value) > self._settings.parts.over_bytes
        return large or not self._partitioner.knows(topic)

    def _outgoing(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None,
        headers: Headers,
        partition: int | None,
        timestamp: int | datetime | None,
    ) -> Outgoing:
        self._check_state()
        pairs = [*(headers.items() if isinstance(headers, Mapping) else headers)]
        pieces = pieces_of(_bytes(value), pairs, self._settings.parts)
        name = _bytes(key)
        place = self._place(topic, name, partition, together=len(pieces) > 1)
        return Outgoing(topic, name, place, pairs, at_ms(timestamp, self._settings.page.timezone), pieces)

    def _place(self, topic: str, key: bytes | None, given: int | None, *, together: bool) -> int:
        """Checks the topic as well: a client asks the broker to make one that it does not know."""
        count = self._partitioner.count(topic)
        if given is not None:
            if not 0 <= given < count:
                raise StromError(f"{topic} has no partition {given}; it has 0 to {count - 1}.")
            return given
        return self._partitioner.fixed(topic, key) if together else self._partitioner.partition(topic, key)


def _bytes(given: bytes | str | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
