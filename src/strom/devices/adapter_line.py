"""One adapter's line to the broker: what waits, what is under way, and the way back after the line broke.

It knows MQTT and messages; when a message is due and what it means is for the publisher to know.
"""

import ssl
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import mqtt5

from strom.backoff import Backoff
from strom.devices.simulator import FaultKind
from strom.mqtt.connection import Connection
from strom.mqtt.errors import MqttError
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint

KEEP_ALIVE_SECONDS = 60
STEADY_SECONDS = 5.0  # a connection that lasted so long was a good one
WINDOW = 200  # messages under way at most, where the broker sets no lower limit
MOST_UNSENT_BYTES = 256 * 1024  # QoS 0 has no window, so the socket's queue is one


FAILURE = 0x80  # reason codes from here on mean that the broker has not taken the message
_PERMANENT = (mqtt5.PubAckReasonCode.NOT_AUTHORIZED, mqtt5.PubAckReasonCode.TOPIC_NAME_INVALID)


class MessageRefusedError(MqttError):
    """The broker will never take what this adapter publishes."""


class Message(NamedTuple):
    """What one push puts on the line."""

    topic: str
    payload: bytes
    published: str  # epoch ms at which it was handed over, as text
    fault: FaultKind | None
    history: bool


class Receipt(NamedTuple):
    """A message that the broker has taken."""

    message: Message
    heard: bool  # somebody had subscribed


class Line:
    """Messages leave in the order in which they came, and each until the broker has confirmed it."""

    def __init__(self, client_id: str, endpoint: Endpoint, context: ssl.SSLContext | None, qos: int) -> None:
        self.client_id = client_id
        self.waiting: deque[Message] = deque()
        self.under_way: dict[int, Message] = {}  # by packet id, in the order of sending
        self.connection: Connection | None = None
        self.welcomes = 0  # how often the broker has let it in
        self.backoff = Backoff()
        self._welcomed = 0.0
        self._short_lives = 0
        self.registered = 0  # events the selector has been asked for
        self.endpoint = endpoint
        self._context = context
        self._qos = qos

    @property
    def connected(self) -> bool:
        return self.connection is not None and self.connection.accepted

    @property
    def unsent(self) -> bool:
        """Whether bytes are on their way to the socket."""
        return self.connected and self.connection is not None and self.connection.unsent > 0

    def connect(self, now: float) -> None:
        """Begin to connect; raises MqttError when that fails at once."""
        session = Session(self.client_id, keep_alive=KEEP_ALIVE_SECONDS)
        self.connection = Connection(
            self.endpoint, session, now=now, context=self._context, attempt=self.backoff.attempts
        )

    def short_lived(self, now: float) -> int:
        """The line broke: how often in a row it was let in and broke soon after."""
        lasted = now - self._welcomed
        if self.connected and lasted > STEADY_SECONDS:
            self.backoff.reset()
        self._short_lives = self._short_lives + 1 if self.connected and lasted <= STEADY_SECONDS else 0
        return self._short_lives

    def drop(self) -> None:
        """The line broke: what was not confirmed is the first to be sent again."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None
        self.waiting.extendleft(reversed(self.under_way.values()))
        self.under_way.clear()

    def forget_before(self, epoch_ms: int) -> int:
        """Give up what was handed over before this moment and is not under way; returns how many."""
        count = 0
        while self.waiting and int(self.waiting[0].published) < epoch_ms:
            self.waiting.popleft()
            count += 1
        return count

    def hang_up(self, now: float) -> None:
        if self.connection is not None:
            self.connection.disconnect(now)
        self.drop()

    def pump(self, now: float) -> Iterator[Receipt]:
        """Send as much as the broker takes; at QoS 0 that is all there is to wait for."""
        connection = self.connection
        if connection is None or not connection.accepted:
            return
        while self.waiting and self._has_room(connection):
            message = self.waiting.popleft()
            stamp = (("strom-published", message.published),)
            packet_id = connection.publish(
                message.topic, message.payload, qos=self._qos, user_properties=stamp
            )
            if packet_id is None:
                yield Receipt(message, heard=True)
            else:
                self.under_way[packet_id] = message
        connection.flush(now)

    def handle(self, now: float) -> Iterator[Receipt]:
        """Take what the broker sends; yields the messages that it has confirmed."""
        if self.connection is None:
            return
        for packet in self.connection.handle(now):
            if isinstance(packet, mqtt5.PubAckPacket):
                yield from self._confirmed(packet)
            elif isinstance(packet, mqtt5.ConnAckPacket):
                self.welcomes += 1
                self._welcomed = now

    def _confirmed(self, packet: mqtt5.PubAckPacket) -> Iterator[Receipt]:
        if packet.reason_code.value >= FAILURE:
            words = packet.reason_code.name.lower().replace("_", " ")
            kind = MessageRefusedError if packet.reason_code in _PERMANENT else MqttError
            raise kind(f"{self.endpoint} refused a message: {words}")
        message = self.under_way.pop(packet.packet_id, None)
        if message is not None:
            yield Receipt(message, packet.reason_code is not mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS)

    def _has_room(self, connection: Connection) -> bool:
        if not self._qos:
            return connection.unsent < MOST_UNSENT_BYTES
        return connection.room > 0 and len(self.under_way) < WINDOW
