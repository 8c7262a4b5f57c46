"""The bridge from MQTT to Kafka: a message goes over as it came and is acknowledged only when Kafka has it.

It reads nothing of a payload but the adapter's name. When Kafka is away it stops reading, and MQTT holds.
"""

import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Callable

import mqtt5

from strom.ingest.counters import Counters
from strom.ingest.dialect_rules import DialectRules
from strom.ingest.forward import NO_ID, Forwarder, Headers
from strom.ingest.gate import TopicGate
from strom.ingest.line import MqttLine
from strom.ingest.meter_key import meter_key
from strom.settings import Settings
from strom.streams import topics

LOG = logging.getLogger("strom.bridge")

HOLD_SECONDS = 2.0  # without a confirmation: Kafka is taken to be away
STOP_SECONDS = 10.0  # to bring over what has been read when the bridge is asked to stop
COUNTERS_SECONDS = 60.0

_IDLE_PAUSE = 1.0
_BUSY_PAUSE = 0.005  # while Kafka is about to confirm
_HELD_PAUSE = 0.1

_SOURCE = (topics.HEADER_SOURCE, b"mqtt")


class Bridge:
    """Runs in the calling thread until `stop`, which a signal handler or another thread may call."""

    def __init__(self, settings: Settings, on_ready: Callable[[], None] = lambda: None) -> None:
        self.counters = Counters()
        self._settings = settings
        self._base = settings.mqtt.topic
        self._on_ready = on_ready
        self._announced = False
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_write.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._rules = DialectRules(settings)
        self._line = MqttLine(settings, self._selector, self.counters, self._rules.filters)
        self._forwarder = Forwarder(settings, topics.RAW, self.counters)
        self._gate = TopicGate(settings)
        self._look_at = 0.0
        self._holding = False
        self._report_at = time.monotonic() + COUNTERS_SECONDS
        self._stopping = False

    def run(self) -> None:
        """Bridge until asked to stop, then bring over what has been read."""
        self._gate.open()
        try:
            while not self._stopping:
                self._step()
            self._drain()
        finally:
            self._close()
            LOG.info("bridge stopped: %s", self.counters)

    def stop(self) -> None:
        """Ask `run` to end."""
        self._stopping = True
        with contextlib.suppress(OSError):  # a wake-up is under way already, or the bridge has ended
            self._wake_write.send(b"\0")

    def _step(self) -> None:
        now = time.monotonic()
        self._line.prepare(now, reading=not self._forwarder.full)
        for key, _ in self._selector.select(self._pause(now)):
            if self._line.is_source(key.fileobj):
                self._forward(self._line.messages(time.monotonic()))
        self._forwarder.poll()
        self._line.acknowledge(now)
        if not self._announced:
            self._announce()
        if now >= self._look_at:
            self._look_at = now + 1.0
            self._look_around(now)

    def _pause(self, now: float) -> float:
        if self._forwarder.in_flight:
            return _HELD_PAUSE if now - self._forwarder.last_progress > 1.0 else _BUSY_PAUSE
        if not self._announced:
            return _HELD_PAUSE
        attempt = self._line.until_next_attempt(now)
        return _IDLE_PAUSE if attempt is None else min(_IDLE_PAUSE, attempt)

    def _forward(self, messages: list[mqtt5.PublishPacket]) -> None:
        self.counters.received += len(messages)
        received = (topics.HEADER_RECEIVED, str(time.time_ns() // 1_000_000).encode())
        confirmed, marks_of = self._line.confirmed, self._rules.marks
        for message in messages:
            topic, payload = message.topic, message.payload
            marks = marks_of(topic)
            headers: Headers = [_SOURCE, marks.dialect, received, marks.topic]
            if message.user_properties:
                headers += _published(message.user_properties)
            key = marks.key or meter_key(payload, topic, self._base)
            self._forwarder.send(payload, key, headers, confirmed, message.packet_id or NO_ID)

    def _look_around(self, now: float) -> None:
        """Once a second: are both sides there, and is it time to tell the counters?"""
        self._line.tick(now)
        if self._forwarder.topic_missing:
            self._forwarder.topic_missing = False
            self._gate.open()
        self._notice_hold(now)
        if now >= self._report_at:
            self._report_at = now + COUNTERS_SECONDS
            LOG.info("%s", self.counters)

    def _announce(self) -> None:
        if self._line.subscribed and self._gate.is_open:
            self._announced = True
            filters = ", ".join(self._rules.filters)
            LOG.info("bridging %s to %s at %s", filters, topics.RAW, self._settings.kafka_bootstrap)
            self._on_ready()

    def _notice_hold(self, now: float) -> None:
        away = self._forwarder.in_flight > 0 and now - self._forwarder.last_progress > HOLD_SECONDS
        if away and not self._holding:
            self.counters.held += 1
            LOG.warning("Kafka does not confirm; holding %d messages", self._forwarder.in_flight)
        elif self._holding and not away:
            LOG.info("Kafka confirms again; reading on")
        self._holding = away

    def _drain(self) -> None:
        """Bring over and acknowledge what has been read; MQTT keeps what has not."""
        deadline = time.monotonic() + STOP_SECONDS
        while self._forwarder.in_flight and time.monotonic() < deadline:
            self._forwarder.poll(0.05)
            self._line.acknowledge(time.monotonic())
        while self._line.unsent and time.monotonic() < deadline:
            self._line.prepare(time.monotonic(), reading=False)
            self._selector.select(0.1)
            self._line.flush(time.monotonic())
        if self._forwarder.in_flight:
            LOG.warning("Kafka has not confirmed %d messages", self._forwarder.in_flight)

    def _close(self) -> None:
        self._line.close(time.monotonic())
        self._forwarder.close()
        self._gate.close()
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()


def _published(properties: list[tuple[str, str]]) -> Headers:
    """When the sender published the message, where it tells."""
    for name, value in properties:
        if name == topics.HEADER_PUBLISHED:
            return [(name, value.encode())]
    return []
