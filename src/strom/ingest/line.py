"""The bridge's line to MQTT: one persistent session that comes back after every loss.

It hands out messages and takes acknowledgements; where the messages go is not its concern.
"""

import logging
import selectors
import ssl
import time
from collections.abc import Callable

import mqtt5

from strom.backoff import Backoff
from strom.errors import StromError
from strom.ingest.counters import Counters
from strom.ingest.subscriptions import Subscriptions
from strom.mqtt.connection import Connection
from strom.mqtt.errors import ConnectRefusedError, MqttError, SessionTakenOverError
from strom.mqtt.packets import LONGEST_SESSION, Session
from strom.mqtt.transport import Endpoint, tls_context
from strom.settings import Settings

LOG = logging.getLogger("strom.bridge")

READ_BYTES = 256 * 1024
STABLE_SECONDS = 10.0  # a connection that lasted this long was a good one
_SUSPICIOUS_LOSSES = 2
_FAILED_SUBSCRIPTION = 128


class MqttLine:
    """Connects, subscribes, and connects again with back-off; `subscribed` while messages can come."""

    def __init__(
        self,
        settings: Settings,
        selector: selectors.BaseSelector,
        counters: Counters,
        filters: list[str],
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self.subscribed = False
        # Packet ids to acknowledge on the present connection. A lost connection takes its list along: those
        # ids mean nothing on the next one, where MQTT sends again whatever was not acknowledged.
        self.confirmed: list[int] = []
        self._settings = settings
        self._selector = selector
        self._counters = counters
        self._subscriptions = Subscriptions(settings, filters)
        self._on_lost = on_lost
        self._endpoint = Endpoint.of(settings)
        self._context = _context(self._endpoint)
        self._connection: Connection | None = None
        self._registered = 0  # events the connection is registered for
        self._welcomed = False  # the broker has let this bridge in before
        self._backoff = Backoff()
        self._connect_at = 0.0
        self._since = 0.0  # when the present connection began

    def until_next_attempt(self, now: float) -> float | None:
        """Seconds until it connects again; None while there is a connection."""
        return None if self._connection is not None else max(0.0, self._connect_at - now)

    def prepare(self, now: float, *, reading: bool) -> None:
        """Before each select: connect if it is time, and ask only for the events that are wanted."""
        if self._connection is None and now >= self._connect_at:
            self._try(lambda: self._connect(now))
        if self._connection is not None:
            self._connection.reading = reading
            self._register(self._connection, self._connection.events)

    def messages(self, now: float) -> list[mqtt5.PublishPacket]:
        """After a select that named this line: what has come."""
        found: list[mqtt5.PublishPacket] = []
        self._try(lambda: self._exchange(now, found))
        return found

    def acknowledge(self, now: float) -> None:
        """Send a PUBACK for everything in `confirmed`."""
        if self._connection is not None and self.confirmed:
            self._counters.acknowledged += len(self.confirmed)
            self._connection.acknowledge(self.confirmed)
            self.confirmed.clear()
            self.flush(now)

    def flush(self, now: float) -> None:
        if self._connection is not None:
            connection = self._connection
            self._try(lambda: connection.flush(now))

    def tick(self, now: float) -> None:
        """Now and then: pings, and notice of a broker that has stopped answering."""
        if self._connection is not None:
            connection = self._connection
            self._try(lambda: connection.tick(now))

    @property
    def unsent(self) -> bool:
        return self._connection is not None and self._connection.unsent > 0

    def is_source(self, fileobj: object) -> bool:
        """Whether the selector means this line."""
        return fileobj is self._connection

    def close(self, now: float) -> None:
        """Say good-bye; the broker keeps the session and queues what comes."""
        if self._connection is not None:
            self._register(self._connection, 0)
            self._connection.disconnect(now)
            self._connection, self.subscribed = None, False

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except MqttError as error:
            self._give_up_if_hopeless(error)
            self._lose(error)

    def _connect(self, now: float) -> None:
        self._since = now
        bridge = self._settings.bridge
        session = Session(
            bridge.client_id,
            clean_start=False,
            expiry_seconds=LONGEST_SESSION,
            keep_alive=bridge.keep_alive,
            receive_max=bridge.inflight,
        )
        self._connection = Connection(
            self._endpoint,
            session,
            now=now,
            context=self._context,
            attempt=self._backoff.attempts,
            read_bytes=READ_BYTES,
        )

    def _exchange(self, now: float, found: list[mqtt5.PublishPacket]) -> None:
        connection = self._connection
        if connection is None:
            return
        for packet in connection.handle(now):
            if type(packet) is mqtt5.PublishPacket:
                found.append(packet)
            elif isinstance(packet, mqtt5.ConnAckPacket):
                self._subscribe(connection, now)
            elif isinstance(packet, mqtt5.SubAckPacket):
                self._check_subscription(packet)
        # A session that goes on sends its backlog first; the SUBACK may be a hundred thousand messages away.
        self.subscribed = self.subscribed or bool(found)

    def _subscribe(self, connection: Connection, now: float) -> None:
        self._counters.reconnects += self._welcomed
        self._welcomed = True
        session = "continuing the session" if connection.session_present else "with a new session"
        LOG.info("connected to MQTT at %s, %s", self._endpoint, session)
        stale = self._subscriptions.stale()
        if connection.session_present and stale:
            connection.unsubscribe(stale)
        connection.subscribe(self._subscriptions.wanted)
        connection.flush(now)

    def _check_subscription(self, packet: mqtt5.SubAckPacket) -> None:
        answers = zip(self._subscriptions.filters, packet.reason_codes, strict=False)
        failed = [(pattern, code) for pattern, code in answers if int(code) >= _FAILED_SUBSCRIPTION]
        if failed:
            pattern, words = failed[0][0], failed[0][1].name.lower().replace("_", " ")
            raise StromError(
                f"MQTT at {self._endpoint} refuses reading {pattern} ({words}); "
                "give the bridge's user that right."
            )
        self._subscriptions.remember()
        self.subscribed = True

    def _register(self, connection: Connection, events: int) -> None:
        if events == self._registered:
            return
        if not self._registered:
            self._selector.register(connection, events)
        elif events:
            self._selector.modify(connection, events)
        else:
            self._selector.unregister(connection)
        self._registered = events

    def _give_up_if_hopeless(self, error: MqttError) -> None:
        if isinstance(error, SessionTakenOverError):
            raise StromError(
                f"another bridge took over the MQTT session of {self._settings.bridge.client_id}; "
                "give each bridge its own bridge.client_id and all of them the same bridge.share."
            )
        if isinstance(error, ConnectRefusedError) and error.permanent and not self._welcomed:
            raise StromError(f"MQTT at {error}; correct the mqtt settings.")

    def _lose(self, error: MqttError) -> None:
        if time.monotonic() - self._since > STABLE_SECONDS:
            self._backoff.reset()
        hint = self._hint()
        if self._connection is not None:
            self._register(self._connection, 0)
            self._connection.close()
        self._connection, self.subscribed, self.confirmed = None, False, []
        self._on_lost()
        pause = self._backoff.next()
        self._connect_at = time.monotonic() + pause
        LOG.warning("MQTT: %s; connecting again in %.1f s%s", error, pause, hint)

    def _hint(self) -> str:
        # Not every broker says that it has closed a session because another client took it.
        if self.subscribed and self._backoff.attempts >= _SUSPICIOUS_LOSSES:
            return f" (does another bridge use the client id {self._settings.bridge.client_id}?)"
        return ""


def _context(endpoint: Endpoint) -> ssl.SSLContext | None:
    try:
        return tls_context(endpoint)
    except MqttError as error:
        raise StromError(f"{error}; correct mqtt.ca_file.") from None
