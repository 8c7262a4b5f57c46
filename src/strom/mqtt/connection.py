"""One MQTT 5 connection for use in a select loop, as publisher or subscriber; a thousand fit into one loop.

It keeps the rules of the protocol (CONNACK, packet ids, receive maximum, keep-alive) and nothing more: when
to reconnect, and what a message means, is for its user to know. It reads no clock: `now` is given to it.
"""

import selectors
import ssl
from collections.abc import Iterable, Sequence

import mqtt5
from mqtt5 import QoS

from strom.mqtt.errors import MqttError
from strom.mqtt.packets import MAX_PACKET_ID, Session, connect_packet, farewell, pubacks, refusal, split
from strom.mqtt.transport import Endpoint, Transport

READ_BYTES = 4 * 1024  # of a publisher, which hears little; a thousand of them stay small
ANSWER_SECONDS = 10.0  # for CONNACK and PINGRESP


class Connection:
    """Register it with a selector for `events`; call `handle` when it is ready and `tick` now and then."""

    def __init__(
        self,
        endpoint: Endpoint,
        session: Session,
        *,
        now: float,
        context: ssl.SSLContext | None = None,
        attempt: int = 0,
        read_bytes: int = READ_BYTES,
    ) -> None:
        self.endpoint = endpoint
        self.accepted = False  # the broker has answered the CONNECT with yes
        self.session_present = False
        self.unconfirmed: set[int] = set()  # packet ids of QoS 1 messages without a PUBACK
        self.reading = True  # False leaves what comes in the socket, so that the broker holds it
        self._keep_alive = float(session.keep_alive)
        self._server_receive_max = MAX_PACKET_ID
        self._server_max_packet = 0
        self._last_id = 0
        self._last_sent = now
        self.waiting_since: float | None = now  # for the CONNACK, later for a PINGRESP
        self._out = bytearray(connect_packet(endpoint, session))
        self._in = bytearray(read_bytes)
        self._filled = 0
        self._ended: MqttError | None = None  # why it is over, not told yet
        self._transport = Transport(endpoint, context, attempt)

    def fileno(self) -> int:
        return self._transport.fileno()

    @property
    def events(self) -> int:
        """What to ask the selector for at this moment; 0 is 'nothing', and selectors do not take that."""
        if self._ended is not None:
            return selectors.EVENT_WRITE  # which is there at once, so that the end is told
        wants_write = self._transport.wants_write or (self._transport.ready and bool(self._out))
        reading = self.reading or not self.accepted
        return (selectors.EVENT_READ if reading else 0) | (selectors.EVENT_WRITE if wants_write else 0)

    @property
    def room(self) -> int:
        """How many QoS 1 messages the broker takes now."""
        return self._server_receive_max - len(self.unconfirmed)

    def handle(self, now: float) -> list[mqtt5.Packet]:
        """Move bytes both ways as far as they go; returns the packets that came.

        What ends the connection is raised by the next call, or by `tick`, if packets came before it.
        """
        self._raise_end()
        if not self._transport.ready:
            self._transport.advance()
            if not self._transport.ready:
                return []
        self.flush(now)
        if not self.reading and self.accepted:
            return []
        packets: list[mqtt5.Packet] = []
        try:
            self._read(packets)
            while self._transport.pending():
                self._read(packets)
        except MqttError as error:
            if not packets:
                raise
            self._ended = error  # what came before the end is handed over first
        return packets

    def publish(
        self, topic: str, payload: bytes, *, qos: int = 0, user_properties: Sequence[tuple[str, str]] = ()
    ) -> int | None:
        """Queue a message; `flush` sends it. A QoS 1 message gets a packet id; look at `room` first."""
        packet_id = self._next_id() if qos else None
        packet = mqtt5.PublishPacket(
            topic, payload, qos=QoS(qos), packet_id=packet_id, user_properties=list(user_properties)
        ).write()
        if self._server_max_packet and len(packet) > self._server_max_packet:
            limit = self._server_max_packet
            raise ValueError(f"{len(packet)} bytes are more than the {limit} the broker takes")
        if packet_id is not None:
            self.unconfirmed.add(packet_id)
        self._out += packet
        return packet_id

    def subscribe(self, filters: Iterable[str], qos: int = 1) -> int:
        """Ask for these topics; the SUBACK comes out of `handle`."""
        packet_id = self._next_id()
        wanted = [
            mqtt5.TopicFilter(
                pattern,
                max_qos=QoS(qos),
                # A retained message comes once, not again at every reconnect.
                retain_handling=mqtt5.RetainHandling.SEND_IF_SUBSCRIPTION_NOT_EXISTS,
            )
            for pattern in filters
        ]
        self._out += mqtt5.SubscribePacket(packet_id, wanted).write()
        return packet_id

    def unsubscribe(self, filters: Iterable[str]) -> None:
        self._out += mqtt5.UnsubscribePacket(self._next_id(), list(filters)).write()

    def acknowledge(self, packet_ids: Sequence[int]) -> None:
        """Queue PUBACKs: the broker may forget these messages."""
        self._out += pubacks(packet_ids)

    def flush(self, now: float) -> None:
        """Send what is queued as far as the socket takes it."""
        if self._ended is not None or not self._out or not self._transport.ready:
            return
        sent = self._transport.send(self._out)
        if sent:
            del self._out[:sent]
            self._last_sent = now

    @property
    def unsent(self) -> int:
        """Bytes queued that the socket has not taken, and still may."""
        return 0 if self._ended is not None else len(self._out)

    def tick(self, now: float) -> None:
        """Keep the connection alive; raises MqttError when the broker has stopped answering."""
        self._raise_end()
        if not self.reading and self.accepted:
            self.waiting_since = None  # its answer lies unread in the socket
        elif self.waiting_since is not None and now - self.waiting_since > ANSWER_SECONDS:
            raise MqttError(f"{self.endpoint} does not answer")
        if self.accepted and self._keep_alive and now - self._last_sent > self._keep_alive / 2:
            self._out += mqtt5.PingReqPacket().write()
            if self.waiting_since is None:
                self.waiting_since = now
            self._last_sent = now
        self.flush(now)

    def disconnect(self, now: float) -> None:
        """Say good-bye and close; never raises."""
        try:
            if self.accepted:
                self._out += mqtt5.DisconnectPacket().write()
                self.flush(now)
        except MqttError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Drop the line without a word; the broker keeps the session."""
        self._transport.close()

    def _raise_end(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _next_id(self) -> int:
        if len(self.unconfirmed) >= MAX_PACKET_ID:
            raise ValueError("every packet id is in use; look at `room` before publishing")
        while True:
            self._last_id = self._last_id % MAX_PACKET_ID + 1
            if self._last_id not in self.unconfirmed:
                return self._last_id

    def _read(self, found: list[mqtt5.Packet]) -> None:
        """Adds what its user should see, up to where it raises."""
        if self._filled == len(self._in):
            self._in += bytes(len(self._in))  # one packet is larger than the buffer
        with memoryview(self._in) as view:
            self._filled += self._transport.receive(view[self._filled :])
            packets: list[mqtt5.Packet] = []
            try:
                used = split(view[: self._filled], packets)
            finally:
                self._take(packets, found)
            left = self._filled - used
            if used and left:
                view[:left] = bytes(view[used : self._filled])
        self._filled = left

    def _take(self, packets: list[mqtt5.Packet], found: list[mqtt5.Packet]) -> None:
        publish = mqtt5.PublishPacket
        for packet in packets:
            if type(packet) is publish or self._passes(packet):
                found.append(packet)

    def _passes(self, packet: mqtt5.Packet) -> bool:
        """Deal with what concerns the connection itself; True if its user should see the packet."""
        if isinstance(packet, mqtt5.PubAckPacket):
            self.unconfirmed.discard(packet.packet_id)
        elif isinstance(packet, mqtt5.PingRespPacket):
            self.waiting_since = None
            return False
        elif isinstance(packet, mqtt5.ConnAckPacket):
            self._welcome(packet)
        elif isinstance(packet, mqtt5.DisconnectPacket):
            raise farewell(packet)
        return True

    def _welcome(self, packet: mqtt5.ConnAckPacket) -> None:
        if packet.reason_code != mqtt5.ConnAckReasonCode.SUCCESS:
            raise refusal(self.endpoint, packet)
        self.accepted = True
        self.session_present = packet.session_present
        self.waiting_since = None
        self._server_receive_max = packet.receive_max
        self._server_max_packet = packet.max_packet_size or 0
        if packet.server_keep_alive is not None:
            self._keep_alive = float(packet.server_keep_alive)
