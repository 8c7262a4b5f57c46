"""What goes over the bridge: every byte, with key and headers, whatever the payload is."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strom.settings import Settings
from strom.stack.programs import find_mosquitto
from strom.streams.topics import (
    HEADER_DIALECT,
    HEADER_PUBLISHED,
    HEADER_RECEIVED,
    HEADER_SOURCE,
    HEADER_TOPIC,
)
from tests.conftest import settings_in
from tests.ingest.bridging import (
    Publisher,
    await_raw,
    bridging,
    own_bridge,
    publish_all,
    start_bridge,
)

pytestmark = pytest.mark.stack

Unique = Callable[[str], str]


def numbered(count: int, meters: int = 10) -> list[bytes]:
    return [json.dumps({"name": f"m{number % meters}", "n": number}).encode() for number in range(count)]


@pytest.fixture
def settings(stack: Settings, tmp_path: Path, topic: str) -> Settings:
    return own_bridge(stack, tmp_path, topic)


@pytest.fixture
def refusing_broker(tmp_path: Path) -> Iterator[str]:
    """The address of a Mosquitto that lets nobody in."""
    port = settings_in(tmp_path).mqtt.port
    config = tmp_path / "refusing.conf"
    config.write_text(f"user root\nlistener {port} 127.0.0.1\nallow_anonymous false\n", encoding="utf-8")
    process = subprocess.Popen([find_mosquitto(), "-c", str(config)], stderr=subprocess.DEVNULL)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait(30)


@pytest.mark.parametrize("qos", [0, 1])
def test_every_message_arrives_once_byte_for_byte(settings: Settings, topic: str, qos: int) -> None:
    sent = numbered(3000)
    with bridging(settings) as bridge:
        publish_all(settings, f"{topic}/gateway", sent, qos)
        records = await_raw(settings, topic, len(sent))
        assert bridge.stop() == 0
    assert sorted(record.value or b"" for record in records) == sorted(sent)
    acknowledged = len(sent) if qos else 0
    assert f"forwarded {len(sent)}, acknowledged {acknowledged}" in bridge.log


def test_one_meter_stays_in_order_on_one_partition(settings: Settings, topic: str) -> None:
    with bridging(settings):
        publish_all(settings, topic, numbered(2000))
        records = await_raw(settings, topic, 2000)
    places = defaultdict(set)
    numbers = defaultdict(list)
    for record in sorted(records, key=lambda record: record.offset):
        places[record.key].add(record.partition)
        numbers[record.key].append(json.loads(record.value or b"")["n"])
    assert len(places) == 10
    assert all(len(partitions) == 1 for partitions in places.values())
    assert all(order == sorted(order) for order in numbers.values())


def test_a_record_carries_where_it_came_from_and_when(settings: Settings, topic: str) -> None:
    with bridging(settings), Publisher(settings, topic) as publisher:
        publisher.send(f"{topic}/adapter-7", b'{"name":"haus-21"}', published="1794780612306")
        publisher.send(topic, b"{}")
        named, bare = sorted(await_raw(settings, topic, 2), key=lambda record: -len(record.value or b""))
    assert named.key == b"haus-21"
    assert named.header(HEADER_SOURCE) == "mqtt"
    assert named.header(HEADER_DIALECT) == "adapter_json"
    assert named.header(HEADER_TOPIC) == f"{topic}/adapter-7"
    assert named.header(HEADER_PUBLISHED) == "1794780612306"
    assert (named.header(HEADER_RECEIVED) or "").isdecimal()
    assert len(named.headers) == 5
    assert bare.key == topic.encode()
    assert bare.header(HEADER_PUBLISHED) is None


def test_hostile_payloads_go_over_as_they_came(settings: Settings, topic: str) -> None:
    hostile = [
        b"",
        bytes(range(256)),
        b"{" * 100_000,
        b"\x00" * 1_000_000,
        b'{"name":"' + b"n" * 500_000 + b'"}',
    ]
    with bridging(settings), Publisher(settings, topic) as publisher:
        for number, payload in enumerate(hostile):
            publisher.send(f"{topic}/{number}", payload)
        publisher.send(f"{topic}/last", b'{"name":"after"}')
        records = await_raw(settings, topic, len(hostile) + 1)
    assert {record.value for record in records} == {*hostile, b'{"name":"after"}'}


def test_a_restart_brings_what_was_published_meanwhile(settings: Settings, topic: str) -> None:
    sent = numbered(500)
    with bridging(settings) as bridge:
        publish_all(settings, topic, sent[:100])
        assert bridge.stop() == 0
    publish_all(settings, topic, sent[100:400])
    with bridging(settings):
        publish_all(settings, topic, sent[400:])
        records = await_raw(settings, topic, len(sent))
    assert len(records) == len(sent)


def test_two_bridges_share_the_load(stack: Settings, tmp_path: Path, topic: str) -> None:
    sent = numbered(2000)
    one, two = (
        own_bridge(stack, tmp_path / name, topic, client_id=f"{name}-{topic}", share="fleet") for name in "ab"
    )
    with bridging(one) as first, bridging(two) as second:
        publish_all(stack, topic, sent)
        records = await_raw(stack, topic, len(sent))
        assert (first.stop(), second.stop()) == (0, 0)
    assert len(records) == len(sent)
    for bridge in (first, second):
        assert "received 0," not in bridge.log


def test_two_bridges_with_one_client_id_warn_and_lose_nothing(settings: Settings, topic: str) -> None:
    sent = numbered(300)
    with bridging(settings) as first, bridging(settings) as second:
        publish_all(settings, topic, sent)
        first.await_log(f"does another bridge use the client id bridge-{topic}?")
        records = await_raw(settings, topic, len(sent))
        assert (first.stop(), second.stop()) == (0, 0)
    assert {record.value for record in records} == set(sent)


def test_a_broker_that_refuses_the_bridge_is_one_sentence_and_exit_code_2(
    settings: Settings, refusing_broker: str
) -> None:
    mqtt = settings.mqtt.model_copy(update={"address": refusing_broker})
    bridge = start_bridge(settings.model_copy(update={"mqtt": mqtt}))
    assert bridge.process.wait(60) == 2
    log = bridge.log
    assert f"strom: MQTT at {refusing_broker} refused the connection: not authorized" in log
    assert "Traceback" not in log


def test_a_bridge_without_kafka_waits_and_can_be_stopped(settings: Settings, topic: str) -> None:
    nowhere = settings.model_copy(
        update={"kafka": settings.kafka.model_copy(update={"bootstrap": "127.0.0.1:1"})}
    )
    bridge = start_bridge(nowhere)
    bridge.await_log("connected to MQTT")
    bridge.await_log("does not answer")
    assert bridge.stop() == 0
