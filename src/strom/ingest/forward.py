"""Messages on their way to Kafka: bounded in number and bytes, tried again for ever, confirmed one by one.

It knows neither MQTT nor what a message says: a sender gives it a list, and the id of each message appears
there when Kafka has it.
"""

import logging
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from strom.ingest import refused
from strom.ingest.counters import Counters
from strom.mqtt.backoff import Backoff
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.producer import open_producer

LOG = logging.getLogger("strom.bridge")
MAX_BYTES = 64 * 1024 * 1024  # held at most, however large the messages are

Headers = list[tuple[str, str | bytes | None]]
Confirmed = list[int]  # ids of messages that Kafka has, for the sender to acknowledge and clear

NO_ID = 0  # a message that needs no acknowledgement


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message that Kafka would not take; it is sent again, in its place."""

    value: bytes
    key: bytes
    headers: Headers
    confirmed: Confirmed
    message_id: int


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
        self._waiting: deque[_Waiting] = deque()
        self._backoff = Backoff()
        self._retry_at = 0.0
        self._fatal = False
        self._producer = self._open()

    @property
    def full(self) -> bool:
        return self.in_flight >= self._limit or self._bytes >= MAX_BYTES or bool(self._waiting)

    def send(self, value: bytes, key: bytes, headers: Headers, confirmed: Confirmed, message_id: int) -> None:
        """Hand over one message; it is held until Kafka has it."""
        if not self.in_flight:
            self.last_progress = time.monotonic()
        self.in_flight += 1
        self._bytes += len(value)
        if self._waiting:  # keep the order behind those that wait
            self._waiting.append(_Waiting(value, key, headers, confirmed, message_id))
        else:
            self._produce(value, key, headers, confirmed, message_id)

    def poll(self, timeout: float = 0.0) -> None:
        """Take Kafka's confirmations; send again what it would not take."""
        before = self.in_flight
        self._producer.poll(timeout)
        now = time.monotonic()
        if self.in_flight < before:
            self.last_progress = now
            self._backoff.reset()
        if self._waiting and now >= self._retry_at:
            self._send_again(now)

    def close(self) -> None:
        """Let go of what is left; the sender has no confirmation for it."""
        self._producer.purge(in_queue=True, in_flight=True, blocking=False)
        self._fatal = True  # what fails from here on is not to be sent again
        self._producer.flush(1.0)

    def _open(self) -> Producer:
        return open_producer(self._settings, self._settings.bridge.client_id)

    def _produce(
        self, value: bytes, key: bytes, headers: Headers, confirmed: Confirmed, message_id: int
    ) -> None:
        try:
            self._producer.produce(
                self._topic,
                value,
                key,
                headers=headers,
                on_delivery=partial(self._delivered, confirmed, message_id),
            )
        except BufferError:
            self._wait(_Waiting(value, key, headers, confirmed, message_id), "its queue is full")
        except KafkaException as exception:
            self._failed(error_of(exception), _Waiting(value, key, headers, confirmed, message_id))

    def _delivered(
        self, confirmed: Confirmed, message_id: int, error: KafkaError | None, message: Message
    ) -> None:
        if error is not None:
            self._failed(error, _waiting_of(message, confirmed, message_id))
            return
        self._counters.forwarded += 1
        self._done(len(message), confirmed, message_id)

    def _done(self, size: int, confirmed: Confirmed, message_id: int) -> None:
        self.in_flight -= 1
        self._bytes -= size
        if message_id:
            confirmed.append(message_id)

    def _failed(self, error: KafkaError, waiting: _Waiting) -> None:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self._keep_aside(waiting, error)
            return
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        if error.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART):
            self.topic_missing = True
        self._wait(waiting, error.str() or error.name())

    def _keep_aside(self, waiting: _Waiting, error: KafkaError) -> None:
        """Larger than the topic takes: no retry will help, and the next message must not wait for it."""
        try:
            path = refused.keep(self._folder, waiting.value, waiting.key, waiting.headers, error.name())
        except OSError as trouble:
            self._wait(waiting, f"{len(waiting.value)} bytes are too large and cannot be kept: {trouble}")
            return
        LOG.error("Kafka does not take a message of %d bytes; kept as %s", len(waiting.value), path)
        self._counters.refused += 1
        self._done(len(waiting.value), waiting.confirmed, waiting.message_id)

    def _wait(self, waiting: _Waiting, reason: str) -> None:
        if not self._waiting:
            pause = self._backoff.next()
            self._retry_at = time.monotonic() + pause
            LOG.warning("Kafka did not take a message (%s); trying again in %.1f s", reason, pause)
        self._waiting.append(waiting)

    def _send_again(self, now: float) -> None:
        if self._fatal:  # such a producer is of no more use; a new one starts afresh
            self._producer, self._fatal = self._open(), False
        batch, self._waiting = self._waiting, deque()
        while batch and not self._waiting:
            each = batch.popleft()
            self._produce(each.value, each.key, each.headers, each.confirmed, each.message_id)
        self._waiting.extend(batch)


def _waiting_of(message: Message, confirmed: Confirmed, message_id: int) -> _Waiting:
    found = message.headers() or []
    headers: Headers = list(found.items()) if isinstance(found, dict) else list(found)
    return _Waiting(_bytes(message.value()), _bytes(message.key()), headers, confirmed, message_id)


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else (value or b"")
