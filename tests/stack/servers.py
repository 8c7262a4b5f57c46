"""Puts something into each server, acknowledged by it, and gives back a check that it is still there."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import Event

import paho.mqtt.client as paho
from confluent_kafka import Consumer, Producer
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from strom.settings import Settings
from strom.store.schema import connect
from strom.streams.topics import RAW

SECONDS = 30.0


def keep_in_kafka(settings: Settings) -> Callable[[], None]:
    value = uuid.uuid4().bytes
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "acks": "all"})
    producer.produce(RAW, value)
    assert producer.flush(SECONDS) == 0
    return lambda: _assert_in_kafka(settings, value)


def _assert_in_kafka(settings: Settings, value: bytes) -> None:
    group = uuid.uuid4().hex
    consumer = Consumer(
        {"bootstrap.servers": settings.kafka_bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([RAW])
    try:
        message = consumer.poll(SECONDS)
        while message is not None and message.value() != value:
            message = consumer.poll(SECONDS)
        assert message is not None, "the record is gone"
    finally:
        consumer.close()


def keep_in_postgres(settings: Settings) -> Callable[[], None]:
    meter = uuid.uuid4().hex
    with connect(settings.postgres_url) as connection:
        connection.execute("INSERT INTO meters (meter, first_seen) VALUES (%s, now())", (meter,))
    return lambda: _assert_in_postgres(settings, meter)


def _assert_in_postgres(settings: Settings, meter: str) -> None:
    with connect(settings.postgres_url) as connection:
        row = connection.execute("SELECT meter FROM meters WHERE meter = %s", (meter,)).fetchone()
    assert row == (meter,)


def keep_in_mosquitto(settings: Settings) -> Callable[[], None]:
    """A message for a session that is away; it is looked at later, but never acknowledged."""
    topic, value = f"kept/{uuid.uuid4().hex}", uuid.uuid4().bytes
    session = MqttSession(settings, uuid.uuid4().hex)
    session.subscribe(topic)
    session.close()
    _publish(settings, topic, value)
    _await_saved(settings.home / "mosquitto" / "mosquitto.db", value)
    return lambda: _assert_in_mosquitto(settings, session.client_id, value)


def _assert_in_mosquitto(settings: Settings, client_id: str, value: bytes) -> None:
    session = MqttSession(settings, client_id)
    try:
        assert session.received.get(timeout=SECONDS) == value
    finally:
        session.close()


def _await_saved(database: Path, value: bytes) -> None:
    # Mosquitto writes down what it has acknowledged a moment later, not before it acknowledges.
    deadline = time.monotonic() + SECONDS
    while not (database.exists() and value in database.read_bytes()):
        assert time.monotonic() < deadline, "Mosquitto does not save"
        time.sleep(0.02)


def _publish(settings: Settings, topic: str, value: bytes) -> None:
    publisher = MqttSession(settings, uuid.uuid4().hex)
    publisher.client.publish(topic, value, qos=1).wait_for_publish(SECONDS)
    publisher.close()


class MqttSession:
    """A persistent session of an independent MQTT client that takes messages without acknowledging them."""

    def __init__(self, settings: Settings, client_id: str) -> None:
        self.client_id = client_id
        self.received: Queue[bytes] = Queue()
        self._subscribed = Event()
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id=client_id, protocol=paho.MQTTv5, manual_ack=True
        )
        self.client.on_message = lambda client, data, message: self.received.put(bytes(message.payload))
        self.client.on_subscribe = lambda *arguments: self._subscribed.set()
        expiry = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        expiry.SessionExpiryInterval = 0xFFFFFFFF
        self.client.connect(*settings.mqtt_address, clean_start=False, properties=expiry)
        self.client.loop_start()

    def subscribe(self, topic: str) -> None:
        self.client.subscribe(topic, qos=1)
        assert self._subscribed.wait(SECONDS)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
