"""Asks the MQTT broker how much it keeps and what it has dropped, beside the main loop.

By a connection of its own: the bridge's own is not read while Kafka is away, and that is when a queue grows.
"""

import logging
import selectors
import threading
import time

import mqtt5

from strom.backoff import Backoff
from strom.ingest.counters import Counters
from strom.mqtt.connection import Connection
from strom.mqtt.errors import ConnectRefusedError, MqttError
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint, tls_context
from strom.settings import Settings
from strom.supervision import SupervisedThread

LOG = logging.getLogger("strom.bridge")

_STEP_SECONDS = 1.0
_LONGEST_SECONDS = 60.0  # between two attempts to connect

# Where Mosquitto tells it. What it stores counts retained messages too, and those wait for nobody.
_STORED = "$SYS/broker/store/messages/count"
_RETAINED = "$SYS/broker/retained messages/count"
_DROPPED = "$SYS/broker/publish/messages/dropped"
_BYTES = "$SYS/broker/store/messages/bytes"


class BrokerWatch:
    """Keeps `queued` and `dropped` of the counters up to date, with brokers that tell it as Mosquitto does."""

    def __init__(self, settings: Settings, counters: Counters) -> None:
        self._endpoint = Endpoint.of(settings)
        self._session = Session(f"{settings.bridge.client_id}-watch")
        self._counters = counters
        self.queued_bytes = 0
        self.tellings = 0  # how often the broker has said how much waits
        self._told: dict[str, int] = {}
        self._closing = threading.Event()
        self._thread = SupervisedThread("broker-watch", self._run, self._closing, LOG, self._count_restart)

    def open(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()

    def _run(self) -> None:
        backoff = Backoff(first=_STEP_SECONDS, longest=_LONGEST_SECONDS)
        while not self._closing.is_set():
            try:
                self._follow(backoff)
            except ConnectRefusedError as error:
                if error.permanent:
                    LOG.info("MQTT does not tell how much it keeps: %s", error)
                    return
            except MqttError:
                pass  # the bridge itself has told it
            self._closing.wait(backoff.next())

    def _count_restart(self) -> None:
        self._counters.background_restarts += 1

    def _follow(self, backoff: Backoff) -> None:
        """Listen until the connection breaks or the bridge ends."""
        context = tls_context(self._endpoint)
        connection = Connection(
            self._endpoint, self._session, now=time.monotonic(), context=context, attempt=backoff.attempts
        )
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(connection, connection.events)
                while not self._closing.is_set():
                    selector.modify(connection, connection.events)
                    if selector.select(_STEP_SECONDS):
                        self._take(connection, backoff)
                    connection.tick(time.monotonic())
        finally:
            connection.disconnect(time.monotonic())

    def _take(self, connection: Connection, backoff: Backoff) -> None:
        now = time.monotonic()
        for packet in connection.handle(now):
            if isinstance(packet, mqtt5.ConnAckPacket):
                backoff.reset()
                connection.subscribe([_STORED, _RETAINED, _DROPPED, _BYTES], qos=0)
                connection.flush(now)
            elif isinstance(packet, mqtt5.PublishPacket) and packet.payload.isdigit():
                self._told[packet.topic] = int(packet.payload)
                self._count()
                self.tellings += packet.topic in (_STORED, _BYTES)

    def _count(self) -> None:
        counters, told = self._counters, self._told
        counters.queued = max(0, told.get(_STORED, 0) - told.get(_RETAINED, 0))
        self.queued_bytes = told.get(_BYTES, 0)
        dropped = told.get(_DROPPED, 0)
        if dropped > counters.dropped:
            LOG.warning(
                "the MQTT broker has dropped %d messages because a queue was full "
                "(mqtt.queue_messages, mqtt.queue_bytes); %d wait",
                dropped - counters.dropped,
                counters.queued,
            )
        counters.dropped = dropped
