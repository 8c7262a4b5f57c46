"""Runs bridges as users do, publishes with an independent MQTT client, and reads what has come to Kafka."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from strom.settings import BridgeSettings, Settings
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from strom.streams.topics import HEADER_TOPIC, RAW
from tests import waiting
from tests.conftest import free_ports
from tests.running import Running, running, start

SECONDS = 90.0
until = partial(waiting.until, seconds=SECONDS)


def own_bridge(settings: Settings, home: Path, topic: str, **bridge: object) -> Settings:
    """Settings of a bridge of its own, on its own MQTT topic, at these servers."""
    host, port = settings.mqtt_address
    return Settings(
        home=home,
        kafka=settings.kafka.model_copy(update={"bootstrap": settings.kafka_bootstrap}),
        mqtt=settings.mqtt.model_copy(update={"address": f"{host}:{port}", "topic": topic}),
        bridge=BridgeSettings.model_validate({"client_id": f"bridge-{topic}"} | bridge),
    )


def with_page(settings: Settings, **bridge: object) -> Settings:
    """The same with a page of metrics, and whatever else of the bridge is to be changed."""
    (port,) = free_ports(1)
    changed = settings.bridge.model_copy(update={"metrics_port": port} | bridge)
    return settings.model_copy(update={"bridge": changed})


def payloads(count: int, first: int = 0) -> list[bytes]:
    """Messages of one adapter that differ."""
    return [b'{"name":"m","n":%d}' % number for number in range(first, first + count)]


def start_bridge(settings: Settings) -> Running:
    return start(settings, "bridge", "bridge")


def bridging(settings: Settings) -> AbstractContextManager[Running]:
    """A bridge that is ready; asked to stop at the end unless the test has ended it."""
    return running(settings, "bridge", "bridge")


class Publisher:
    """An MQTT 5 client that is not Strom's own."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5)
        self._client.max_inflight_messages_set(100)
        host, port = settings.mqtt_address
        self._client.connect(host, port)
        self._client.loop_start()
        self._last: paho.MQTTMessageInfo | None = None

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def send(self, topic: str, payload: bytes, qos: int = 1, published: str | None = None) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if published is not None:
            properties.UserProperty = [("other", "x"), ("strom-published", published)]
        self._last = self._client.publish(topic, payload, qos=qos, properties=properties)

    def await_confirmed(self) -> None:
        """Until the broker has all that was sent."""
        assert self._last is not None
        self._last.wait_for_publish(SECONDS)
        until(lambda: not self._client.want_write(), "everything is sent")


def publish_all(settings: Settings, topic: str, payloads: Iterable[bytes], qos: int = 1) -> None:
    with Publisher(settings, f"publisher-{topic}") as publisher:
        for payload in payloads:
            publisher.send(topic, payload, qos)
        publisher.await_confirmed()


def raw_records(settings: Settings, topic: str) -> list[Record]:
    """What the raw topic holds of this MQTT topic and those below it."""
    with Records(settings, [RAW], start=EARLIEST, until_end=True) as records:
        found = [(record.header(HEADER_TOPIC) or "", record) for record in records]
    return [record for name, record in found if name == topic or name.startswith(f"{topic}/")]


def await_raw(settings: Settings, topic: str, count: int) -> list[Record]:
    """Wait for at least this many different values, then give all records."""
    found: list[Record] = []

    def enough() -> bool:
        found[:] = raw_records(settings, topic)
        return len({record.value for record in found}) >= count

    until(enough, f"{count} different records of {topic} in {RAW}")
    return found
