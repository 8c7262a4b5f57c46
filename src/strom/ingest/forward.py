"""Messages on their way to Kafka: bounded in number and bytes, tried again for ever, confirmed one by one.

It knows neither MQTT nor what a message says: a sender gives it a list, and the id of each message appears
there when Kafka has it.
"""

import logging
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from strom.backoff import Backoff
from strom.ingest import refused
from strom.ingest.counters import Counters
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.producer import open_producer

LOG = logging.getLogger("strom.bridge")
MAX_BYTES = 64 * 1024 * 1024  # held at most, however large the messages are

Headers = list[tuple[str, str | bytes | None]]
Confirmed = list[int]  # ids of messages that Kafka has, for the sender to acknowledge and clear

NO_ID = 0  # a message that needs no acknowledgement


class Pending(NamedTuple):
    """A message that Kafka does not have yet."""

    value: bytes
    key: bytes
    headers: Headers
    confirmed: Confirmed
    message_id: int
    alone: bool = False  # not in one batch with others: together they were too large


class Forwarder:
    """A producer that neither loses nor reorders; `full` asks the sender to pause."""

    def __init__(self, settings: Settings, topic: str, counters: Counters) -> None:
        self.in_flight = 0
        self.last_progress = time.monotonic()
        self.topic_missing = False
        self._settings = settings
        self._topic = topic
        self._counters = counters
        self._limit = settings.bridge.inflight
        self._folder: Path = settings.home / "refused"
        self._bytes = 0
        self._waiting: deque[Pending] = deque()
        self._backoff = Backoff()
        self._retry_at = 0.0
        self._fatal = False
        self._closing = False
        self._producer = self._open()
        self._single: Producer | None = None  # sends each message in a batch of its own

    @property
    def full(self) -> bool:
        return self.in_flight >= self._limit or self._bytes >= MAX_BYTES or bool(self._waiting)

    def send(self, value: bytes, key: bytes, headers: Headers, confirmed: Confirmed, message_id: int) -> None:
        """Hand over one message; it is held until Kafka has it."""
        if not self.in_flight:
            self.last_progress = time.monotonic()
        self.in_flight += 1
        self._bytes += len(value)
        message = Pending(value, key, headers, confirmed, message_id)
        if self._waiting:  # keep the order behind those that wait
            self._waiting.append(message)
        else:
            self._produce(message)

    def poll(self, timeout: float = 0.0) -> None:
        """Take Kafka's confirmations; send again what it would not take."""
        before = self.in_flight
        self._producer.poll(timeout)
        if self._single is not None:
            self._single.poll(0)
        now = time.monotonic()
        if self.in_flight < before:
            self.last_progress = now
            self._backoff.reset()
        if self._waiting and now >= self._retry_at:
            self._send_again()

    def close(self) -> None:
        """Let go of what is left; the sender has no confirmation for it."""
        self._closing = True
        for producer in filter(None, (self._producer, self._single)):
            _discard(producer)

    def _open(self, **overrides: int) -> Producer:
        return open_producer(self._settings, self._settings.bridge.client_id, **overrides)

    def _produce(self, message: Pending) -> None:
        producer = self._alone() if message.alone else self._producer
        try:
            producer.produce(
                self._topic,
                message.value,
                message.key,
                headers=message.headers,
                on_delivery=partial(self._delivered, message),
            )
        except BufferError:
            self._wait(message, "its queue is full")
        except KafkaException as exception:
            self._failed(error_of(exception), message)

    def _alone(self) -> Producer:
        if self._single is None:
            self._single = self._open(**{"batch.num.messages": 1})
        return self._single

    def _delivered(self, message: Pending, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self._counters.forwarded += 1
            self._done(message)
        elif not self._closing:
            self._failed(error, message)

    def _done(self, message: Pending) -> None:
        self.in_flight -= 1
        self._bytes -= len(message.value)
        if message.message_id:
            message.confirmed.append(message.message_id)

    def _failed(self, error: KafkaError, message: Pending) -> None:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self._too_large(message, error)
            return
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        if error.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART):
            self.topic_missing = True
        self._wait(message, error.str() or error.name())

    def _too_large(self, message: Pending, error: KafkaError) -> None:
        """No retry helps a message that is too large by itself, and the next must not wait for it."""
        if not message.alone:
            self._wait(message._replace(alone=True), "a batch is larger than the topic takes")
            return
        try:
            path = refused.keep(self._folder, message.value, message.key, message.headers, error.name())
        except OSError as trouble:
            self._wait(message, f"{len(message.value)} bytes are too large and cannot be kept: {trouble}")
            return
        LOG.error("Kafka does not take a message of %d bytes; kept as %s", len(message.value), path)
        self._counters.refused += 1
        self._done(message)

    def _wait(self, message: Pending, reason: str) -> None:
        if not self._waiting:
            pause = self._backoff.next()
            self._retry_at = time.monotonic() + pause
            LOG.warning("Kafka did not take a message (%s); trying again in %.1f s", reason, pause)
        self._waiting.append(message)

    def _send_again(self) -> None:
        if self._fatal:  # such a producer is of no more use: what it still has joins those that wait
            _discard(self._producer)
            self._producer, self._fatal = self._open(), False
        batch, self._waiting = self._waiting, deque()
        while batch and not self._waiting:
            self._produce(batch.popleft())
        self._waiting.extend(batch)


def _discard(producer: Producer) -> None:
    producer.purge(in_queue=True, in_flight=True, blocking=False)
    producer.flush(1.0)
