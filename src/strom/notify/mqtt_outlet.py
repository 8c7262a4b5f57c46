"""Alerts over MQTT 5, QoS 1, one topic a meter. Connects when there is something to send.

Not retained: a message is an event. What is open now is for the API to tell; a retained end would greet every new
subscriber for ever.
"""

import re
import selectors
import time
import uuid
from collections.abc import Callable

import mqtt5
from mqtt5 import PubAckReasonCode

from strom.errors import StromError
from strom.mqtt.connection import Connection
from strom.mqtt.errors import MqttError
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint, tls_context
from strom.notify.outlet import Answer, Delivered, Later, Notice, Refused
from strom.settings import Settings

ANSWER_SECONDS = 10.0
USER_PROPERTY = "strom-key"  # by which a receiver tells a repeat
_LONGEST_LEVEL = 200
_STEP_SECONDS = 1.0
_TAKEN = (PubAckReasonCode.SUCCESS, PubAckReasonCode.NO_MATCHING_SUBSCRIBERS)
# These will be answered alike until a person changes something about the message.
_PERMANENT = (PubAckReasonCode.TOPIC_NAME_INVALID, PubAckReasonCode.PAYLOAD_FORMAT_INVALID)


class MqttOutlet:
    name = "mqtt"

    def __init__(self, settings: Settings) -> None:
        self._topic = (settings.alerts_mqtt.topic or "").rstrip("/")
        if not self._topic or re.search(r"[+#\0]", self._topic):
            raise StromError(
                f"alerts_mqtt.topic is {self._topic!r}: write it without + and #, as strom/alerts."
            )
        self._endpoint = Endpoint.of(settings)
        # A session of its own each time: nothing is kept for it, and a test beside it must not take it over.
        self._session = Session(f"{settings.alerts.sender}-{uuid.uuid4().hex[:8]}")
        try:
            self._context = tls_context(self._endpoint)
        except MqttError as error:
            raise StromError(f"{error}; correct mqtt.ca_file.") from None
        self._connection: Connection | None = None
        self._attempt = 0

    @property
    def address(self) -> str:
        return f"{self._endpoint} {self._topic}/…"

    def send(self, notice: Notice) -> Answer:
        try:
            return self._publish(self._connected(), notice)
        except MqttError as error:
            self._attempt += 1
            self._drop()
            return Later(str(error))

    def rest(self) -> None:
        if self._connection is not None:
            self._connection.disconnect(time.monotonic())
            self._connection = None

    def _publish(self, connection: Connection, notice: Notice) -> Answer:
        topic = f"{self._topic}/{level(str(notice.alert['meter']))}"
        properties = [(USER_PROPERTY, notice.key)]
        try:
            packet_id = connection.publish(topic, notice.body(), qos=1, user_properties=properties)
        except ValueError as error:
            return Refused(str(error))
        acks: list[mqtt5.PubAckPacket] = []
        _drive(connection, lambda: bool(acks), acks)
        code = next(ack.reason_code for ack in acks if ack.packet_id == packet_id)
        if code in _TAKEN:
            return Delivered()
        why = f"{self._endpoint} refused {topic}: {code.name.lower().replace('_', ' ')}"
        return Refused(why) if code in _PERMANENT else Later(why)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection(
                self._endpoint,
                self._session,
                now=time.monotonic(),
                context=self._context,
                attempt=self._attempt,
            )
            connection = self._connection
            _drive(connection, lambda: connection.accepted, [])
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def level(meter: str) -> str:
    """The meter's name as one level of a topic; the message has it as it is."""
    return re.sub(r"[/+#\x00-\x1f\x7f-\x9f]", "_", meter)[:_LONGEST_LEVEL]


def _drive(connection: Connection, done: Callable[[], bool], acks: list[mqtt5.PubAckPacket]) -> None:
    """Move bytes until the answer is there; raises MqttError when it does not come."""
    deadline = time.monotonic() + ANSWER_SECONDS
    connection.flush(time.monotonic())
    with selectors.DefaultSelector() as selector:
        selector.register(connection, connection.events or selectors.EVENT_READ)
        while not done():
            if time.monotonic() > deadline:
                raise MqttError(f"{connection.endpoint} does not answer")
            selector.modify(connection, connection.events or selectors.EVENT_READ)
            if selector.select(_STEP_SECONDS):
                packets = connection.handle(time.monotonic())
                acks += [packet for packet in packets if isinstance(packet, mqtt5.PubAckPacket)]
