"""How Strom writes to Kafka: confirmed by all replicas, no duplicates of its own, in order per key, unless asked otherwise.

`open_producer` is the bare client for parts that keep their own books; `Producer` is for people: a future for each
message, large ones in parts, transactions.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, Self

from confluent_kafka import KafkaException
from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.answers import Answers
from strom.streams.assembler import room_of
from strom.streams.choices import LINGER_MS, Acks, Choices, Compression
from strom.streams.chunks import split
from strom.streams.client import common_config, error_of
from strom.streams.delivery import DeliveryFuture
from strom.streams.partitioners import Partitioner
from strom.streams.refusals import Refusals, TakenOverError
from strom.streams.start import epoch_ms
from strom.streams.topics import HEADER_PART, MAX_MESSAGE_BYTES
from strom.streams.transaction import Transactions

Header = tuple[str, str | bytes | None]
Headers = Mapping[str, str | bytes | None] | Sequence[Header]

_FULL_SECONDS = 0.1  # for the client's queue to have room again
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
        timeout: float = 60.0,
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

        It waits only where too much is under way already, or for each message with `sync`.
        """
        self._check_state()
        body, name = _bytes(value), _bytes(key)
        pairs = [*(headers.items() if isinstance(headers, Mapping) else headers)]
        pieces = self._pieces(body, pairs)
        place = self._place(topic, name, partition, together=len(pieces) > 1)
        at_ms = self._at_ms(timestamp)
        future = self._answers.expect(len(pieces), self._refusals.of_delivery)
        for piece, more in pieces:
            self._produce(topic, piece, name, place, [*pairs, *more], at_ms, future)
        self._answers.take()
        if self._choices.sync:
            self._answers.wait_for(future)
            future.result()
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

    def _at_ms(self, moment: int | datetime | None) -> int:
        if moment is None:
            return 0  # the client's own "now"
        at_ms = epoch_ms(moment, self._settings.page.timezone) if isinstance(moment, datetime) else moment
        if at_ms <= 0:
            raise StromError(f"timestamp {at_ms} is before 1970; give epoch milliseconds or a datetime.")
        return at_ms

    def _pieces(self, value: bytes | None, headers: list[Header]) -> list[tuple[bytes | None, list[Header]]]:
        """The value, or its parts, each with the header that says so."""
        parts = self._settings.parts
        if value is None or len(value) <= parts.over_bytes:
            return [(value, [])]
        if room_of(len(value), parts.over_bytes) > parts.memory_bytes:
            raise StromError(
                f"A value of {len(value):,} bytes is larger than whoever puts its parts together takes; "
                f"set parts.memory_mb higher than {parts.memory_mb} for senders and readers."
            )
        if any(name == HEADER_PART for name, _ in headers):
            raise StromError(
                f"The header {HEADER_PART} is for parts; a value of {len(value):,} bytes gets its own."
            )
        return [(piece, [(HEADER_PART, part.header)]) for part, piece in split(value, parts.over_bytes)]

    def _place(self, topic: str, key: bytes | None, given: int | None, *, together: bool) -> int:
        """Checks the topic as well: a client asks the broker to make one that it does not know."""
        count = self._partitioner.count(topic)
        if given is not None:
            if not 0 <= given < count:
                raise StromError(f"{topic} has no partition {given}; it has 0 to {count - 1}.")
            return given
        return self._partitioner.fixed(topic, key) if together else self._partitioner.partition(topic, key)

    def _produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        headers: list[Header],
        at_ms: int,
        future: DeliveryFuture,
    ) -> None:
        while True:
            try:
                self._client.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=future.delivered,
                    timestamp=at_ms,
                    headers=headers,
                )
                return
            except BufferError:
                self._answers.take(_FULL_SECONDS)
            except KafkaException as error:
                refusal = self._refusals.of_delivery(error_of(error), topic)
                future.asked = True  # whoever sends hears of it here and now
                future.fail(refusal)
                raise refusal from None


def _bytes(given: bytes | str | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
