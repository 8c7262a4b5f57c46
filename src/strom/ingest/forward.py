"""Messages on their way to Kafka: bounded in number and bytes, tried again for ever, confirmed when Kafka has them.

It knows neither MQTT nor what a message says: a sender gives it a list, and the ids of messages appear there when
Kafka has them.
"""

import logging
import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException

from strom.backoff import Backoff
from strom.errors import StromError
from strom.ingest import refused
from strom.ingest.counters import Counters
from strom.ingest.parcel import Failure, Parcel, Receipt, Record, in_parts
from strom.ingest.producers import Producers
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.partitioners import Partitioner

_LONG_MS = 100  # batches that grow for longer are sent at once when there is no room for more

_NOT_TAKEN = KafkaError(KafkaError._QUEUE_FULL)
_NO_SUCH_TOPIC = (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)


class Forwarder:
    """A producer that neither loses nor reorders; `full` asks the sender to pause."""

    def __init__(self, settings: Settings, topic: str, counters: Counters, log: logging.Logger) -> None:
        self.in_flight = 0
        self.last_progress = time.monotonic()
        self.topic_missing = False
        self.has_let_go = False  # of what it held, and Kafka has confirmed nothing since
        self._topic = topic
        self._counters = counters
        self._log = log
        self._limit = settings.bridge.inflight
        self._most_bytes = settings.bridge.inflight_bytes  # however large the messages are
        self._part_bytes = settings.parts.over_bytes
        self._lingers = settings.bridge.linger_ms > _LONG_MS
        self._folder: Path = settings.home / "refused"
        self._bytes = 0
        self._number = 0
        self._under_way: dict[Parcel, None] = {}  # in the order in which they were handed over
        self._waiting: list[Parcel] = []  # to be sent again
        self._failed = 0
        self._backoff = Backoff()
        self._retry_at = 0.0
        self._fatal = False
        self._closing = False
        self._letting_go = False
        self._producers = Producers(settings)
        self._partitioner = Partitioner(settings)

    @property
    def full(self) -> bool:
        return self.in_flight >= self._limit or self._bytes >= self._most_bytes or bool(self._waiting)

    def send(self, records: list[Record], ids: list[int], confirmed: list[int]) -> None:
        """Hand over what arrived together; it is held until Kafka has it, then `confirmed` gets the ids."""
        receipt = Receipt(ids, confirmed, len(records))
        if not records:
            return
        if not self.in_flight and not self.has_let_go:
            self.last_progress = time.monotonic()
        self._number += 1
        parcel = Parcel(self._number, records, receipt, self._answered)
        self.in_flight += len(records)
        self._bytes += parcel.size
        if self._waiting:  # keep the order behind those that wait
            self._waiting.append(parcel)
        else:
            self._produce(parcel)

    def poll(self, timeout: float = 0.0, *, hurry: bool = False) -> None:
        """Take Kafka's confirmations; send again what it would not take.

        In a hurry, or where there is no room for more, batches do not wait until they have grown.
        """
        before, failed = self._open_answers, self._failed
        self._producers.poll(timeout, hurry=hurry or (self._lingers and self.full))
        now = time.monotonic()
        if before - self._open_answers > self._failed - failed:
            self.last_progress = now
            self.has_let_go = False
            self._backoff.reset()
        if (self._waiting or self._fatal) and now >= self._retry_at:
            self._send_again()

    def let_go(self) -> int:
        """Drop what is held now, as if Kafka had it; how many records that were."""
        before = self._counters.let_go
        self.has_let_go = self._letting_go = True
        try:
            self._producers.discard()  # whose answers come in here
        finally:
            self._letting_go = False
        waiting, self._waiting = self._waiting, []
        for parcel in waiting:
            self._drop(parcel, len(parcel.records), parcel.size)
        return self._counters.let_go - before

    def close(self) -> None:
        """Let go of what is left; the sender has no confirmation for it."""
        self._closing = True
        self._producers.discard()

    @property
    def _open_answers(self) -> int:
        return sum([parcel.open for parcel in self._under_way])

    def _produce(self, parcel: Parcel) -> None:
        """The hot loop: one call of Kafka's client for each record, one callback for all of them."""
        producer = self._producers.one(alone=parcel.alone)
        produce, topic, answer = producer.produce, self._topic, parcel.answer
        self._partitioner.use(producer)  # it knows a new partition before anything goes there
        partition_of = self._partitioner.partition
        taken, error = 0, None
        try:
            for value, key, headers in parcel.records:
                partition = partition_of(topic, key)
                produce(topic, value, key, partition, headers=headers, on_delivery=answer)
                taken += 1
        except (BufferError, StromError):  # its queue is full; or nobody tells how many partitions there are
            error = _NOT_TAKEN
        except KafkaException as exception:
            error = error_of(exception)
        if error is not None:
            self._cut(parcel, taken, error)
        if taken:  # answers come only while polling
            parcel.open = taken
            self._under_way[parcel] = None

    def _cut(self, parcel: Parcel, taken: int, error: KafkaError) -> None:
        """Kafka's client refused a record: it and those behind it wait."""
        rest = Parcel(
            parcel.number, parcel.records[taken:], parcel.receipt, self._answered, alone=parcel.alone
        )
        parcel.records = parcel.records[:taken]
        first, *behind = rest.records
        self._try_again(rest, [(first, error), *((record, _NOT_TAKEN) for record in behind)])

    def _answered(self, parcel: Parcel) -> None:
        """There is an answer for each record of the parcel."""
        if parcel not in self._under_way:
            return  # given up with its producer, and sent again since
        del self._under_way[parcel]
        failures = parcel.failures
        done = len(parcel.records) - len(failures)
        self._counters.forwarded += done
        self._settle(parcel, done, parcel.size - _size(failures))
        if failures and self._letting_go:
            self._drop(parcel, len(failures), _size(failures))
        elif failures and not self._closing:
            self._failed += len(failures)
            self._try_again(parcel, failures)

    def _drop(self, parcel: Parcel, records: int, size: int) -> None:
        self._counters.let_go += records
        self._settle(parcel, records, size)

    def _settle(self, parcel: Parcel, records: int, size: int) -> None:
        self.in_flight -= records
        self._bytes -= size
        parcel.receipt.settle(records)

    def _try_again(self, parcel: Parcel, failures: list[Failure]) -> None:
        errors = {error.code(): error for _, error in failures}
        too_large = KafkaError.MSG_SIZE_TOO_LARGE in errors
        if too_large and parcel.alone:
            failures = [each for each in failures if not self._parted(parcel, *each)]
            failures = [each for each in failures if not self._kept(parcel, *each)]
        if any(error.fatal() or code == KafkaError._FATAL for code, error in errors.items()):
            self._fatal = True
        if not errors.keys().isdisjoint(_NO_SUCH_TOPIC):
            self.topic_missing = True
        if failures:
            records, error = [record for record, _ in failures], failures[0][1]
            alone = parcel.alone or too_large
            again = Parcel(parcel.number, records, parcel.receipt, self._answered, alone=alone)
            self._wait(again, error.str() or error.name())

    def _parted(self, parcel: Parcel, record: Record, error: KafkaError) -> bool:
        """What one record cannot hold goes on as several, which whoever reads the topic puts together again."""
        parts = in_parts(record, self._part_bytes)
        if error.code() != KafkaError.MSG_SIZE_TOO_LARGE or len(parts) == 1:
            return False
        self._log.info("a message of %d bytes goes to Kafka in %d parts", len(record[0]), len(parts))
        self.in_flight += len(parts) - 1
        parcel.receipt.expect(len(parts) - 1)
        if not self._waiting:
            self._retry_at = 0.0
        self._waiting.append(Parcel(parcel.number, parts, parcel.receipt, self._answered, alone=True))
        return True

    def _kept(self, parcel: Parcel, record: Record, error: KafkaError) -> bool:
        """No retry helps a record that is too large by itself, and the next must not wait for it."""
        value, key, headers = record
        if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
            return False
        try:
            path = refused.keep(self._folder, value, key, headers, error.name())
        except OSError as trouble:
            self._log.error("a message of %d bytes is too large and cannot be kept: %s", len(value), trouble)
            return False
        self._log.error("Kafka does not take a message of %d bytes; kept as %s", len(value), path)
        self._counters.refused += 1
        self._settle(parcel, 1, len(value))
        return True

    def _wait(self, parcel: Parcel, reason: str) -> None:
        if not self._waiting:
            pause = self._backoff.next()
            self._retry_at = time.monotonic() + pause
            self._log.warning(
                "Kafka did not take %d messages (%s); trying again in %.1f s",
                len(parcel.records),
                reason,
                pause,
            )
        self._waiting.append(parcel)

    def _send_again(self) -> None:
        if self._fatal:
            self._replace_producers()
        # Answers come partition by partition: the order of arrival is restored here.
        again, self._waiting = sorted(self._waiting, key=lambda parcel: parcel.number), []
        while again and not self._waiting:
            self._produce(again.pop(0))
        self._waiting.extend(again)

    def _replace_producers(self) -> None:
        self._producers.replace()
        self._fatal = False
        silent, self._under_way = self._under_way, {}
        for parcel in silent:  # the old ones did not even say that they let go of these
            again = Parcel(parcel.number, parcel.records, parcel.receipt, self._answered, alone=parcel.alone)
            self._waiting.append(again)


def _size(failures: list[Failure]) -> int:
    return sum([len(record[0]) for record, _ in failures])
