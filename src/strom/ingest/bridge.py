"""The bridge from MQTT to Kafka: a message goes over as it came and is acknowledged only when Kafka has it.

It reads nothing of a payload but the adapter's name, unless it is asked to thin. When Kafka is away it stops reading,
and MQTT holds.
"""

import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Callable

import mqtt5

from strom.ingest.broker_watch import BrokerWatch
from strom.ingest.confirming import Confirming
from strom.ingest.counters import Counters
from strom.ingest.dialect_rules import DialectRules
from strom.ingest.forward import Forwarder
from strom.ingest.gate import TopicGate
from strom.ingest.headings import Headings, published
from strom.ingest.line import MqttLine
from strom.ingest.meter_key import meter_key
from strom.ingest.overflow import Overflow
from strom.ingest.parcel import Record
from strom.ingest.thinner import thinner_of
from strom.settings import Settings
from strom.streams import topics

LOG = logging.getLogger("strom.bridge")

STOP_SECONDS = 10.0  # to bring over what has been read when the bridge is asked to stop
COUNTERS_SECONDS = 60.0

_IDLE_PAUSE = 1.0
_BUSY_PAUSE = 0.005  # while Kafka is about to confirm
_HELD_PAUSE = 0.1
# Mosquitto writes message by message. To wake for each would cost more than to carry it: after a read that brought
# few, more may come together for so long. They wait for less than the producer lets a batch grow.
BREATH = 0.001
FEW = 100


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
        self._headings = Headings(self._rules)
        self._thinner = thinner_of(settings, self._rules, self.counters)
        self._line = MqttLine(settings, self._selector, self.counters, self._rules.filters, self._lost)
        self._forwarder = Forwarder(settings, topics.RAW, self.counters, LOG)
        self._confirming = Confirming(self._forwarder, settings)
        self._gate = TopicGate(settings, LOG, self._count_restart)
        self._watch = BrokerWatch(settings, self.counters)
        self._overflow = Overflow(settings, self._watch)
        self._look_at = 0.0
        self._report_at = time.monotonic() + COUNTERS_SECONDS
        self._stopping = False

    def run(self) -> None:
        """Bridge until asked to stop, then bring over what has been read."""
        self._gate.open()
        self._watch.open()
        try:
            while not self._stopping:
                self._step()
            self._drain()
        finally:
            self._close()
            self.refresh()
            LOG.info("bridge stopped: %s", self.counters)

    def stop(self) -> None:
        """Ask `run` to end."""
        self._stopping = True
        with contextlib.suppress(OSError):  # a wake-up is under way already, or the bridge has ended
            self._wake_write.send(b"\0")

    def refresh(self) -> None:
        """Bring the counters that rise and fall up to date; may be called from another thread."""
        self.counters.in_flight = self._forwarder.in_flight
        self.counters.connected = int(self._line.subscribed)

    def _count_restart(self) -> None:
        self.counters.background_restarts += 1

    def _step(self) -> None:
        now = time.monotonic()
        self._line.prepare(now, reading=not self._forwarder.full)
        for key, _ in self._selector.select(self._pause(now)):
            if self._line.is_source(key.fileobj):
                messages = self._line.messages(time.monotonic())
                if messages:
                    self._forward(messages)
                    if len(messages) < FEW:
                        time.sleep(BREATH)
        self._forwarder.poll()
        if self._overflow.debt and self._forwarder.full:
            self._make_room()
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
        """Hand over what one read brought. All that is done for each message is in this loop and the forwarder's."""
        received_ms = time.time_ns() // 1_000_000
        self.counters.received += len(messages)
        ids = [message.packet_id for message in messages if message.packet_id]
        if self._thinner is not None:
            messages = self._thinner.sift(messages, received_ms)
        headings, base = self._headings, self._base
        headings.at(received_ms)
        records: list[Record] = []
        for message in messages:
            topic, payload = message.topic, message.payload
            headers, key = headings[topic]
            if message.user_properties:
                headers = headers + published(message.user_properties)
            records.append((payload, key or meter_key(payload, topic, base), headers))
        self._forwarder.send(records, ids, self._line.confirmed)

    def _lost(self) -> None:
        """The connection broke: what comes again may have gone on, but is not safe yet, and must go on again."""
        if self._thinner is not None:
            self._thinner.forget()

    def _look_around(self, now: float) -> None:
        """Once a second: are both sides there, and is it time to tell the counters?"""
        self._line.tick(now)
        if self._forwarder.topic_missing:
            self._forwarder.topic_missing = False
            self._gate.open()
        self._notice_hold(now)
        if self._confirming.away:
            self._overflow.look(self.counters.queued)
        if now >= self._report_at:
            self._report_at = now + COUNTERS_SECONDS
            self.refresh()
            LOG.info("%s", self.counters)

    def _announce(self) -> None:
        if self._line.subscribed and self._gate.is_open:
            self._announced = True
            filters = ", ".join(self._rules.filters)
            LOG.info("bridging %s to %s at %s", filters, topics.RAW, self._settings.kafka_bootstrap)
            self._on_ready()

    def _notice_hold(self, now: float) -> None:
        if not self._confirming.changed(now):
            return
        self.counters.holding = int(self._confirming.away)
        if self._confirming.away:
            self.counters.held += 1
            LOG.warning("Kafka does not confirm; holding %d messages", self._forwarder.in_flight)
        else:
            LOG.info("Kafka confirms again; reading on")

    def _make_room(self) -> None:
        """What is held is the oldest that there is; acknowledged, it makes room in the broker's queue."""
        self._notice_hold(time.monotonic())
        if not self._confirming.away:
            self._overflow.paid(self._overflow.debt)
            return
        self._overflow.paid(self._forwarder.let_go())
        if self._thinner is not None:
            self._thinner.forget()  # it counts on messages that are gone

    def _drain(self) -> None:
        """Bring over and acknowledge what has been read; MQTT keeps what has not."""
        deadline = time.monotonic() + STOP_SECONDS
        while self._forwarder.in_flight and time.monotonic() < deadline:
            self._forwarder.poll(0.05, hurry=True)
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
        self._watch.close()
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()
