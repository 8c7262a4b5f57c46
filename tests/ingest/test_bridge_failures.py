"""The bridge when something dies: nothing confirmed is lost, memory stays bounded, it heals by itself."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from strom.ingest.line import READ_BYTES
from strom.settings import PartsSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams.admin import admin_client, topic_names
from strom.streams.consumer import Consumer
from strom.streams.start import EARLIEST
from strom.streams.topics import HEADER_PART, HEADER_TOPIC, MAX_MESSAGE_BYTES, RAW
from tests.ingest.bridging import (
    Publisher,
    await_raw,
    bridging,
    own_bridge,
    payloads,
    publish_all,
    raw_records,
    start_bridge,
    until,
    with_page,
)
from tests.ingest.metrics_page import await_metric, metric

pytestmark = pytest.mark.stack

INFLIGHT = 50


@pytest.fixture
def settings(servers: Stack, tmp_path: Path, topic: str) -> Settings:
    return with_page(own_bridge(servers.settings, tmp_path, topic, inflight=INFLIGHT))


def test_a_bridge_killed_in_the_middle_loses_nothing(settings: Settings, topic: str) -> None:
    sent = payloads(4000)
    bridge = start_bridge(settings)
    bridge.await_ready()
    with Publisher(settings, topic) as publisher:
        for payload in sent:
            publisher.send(topic, payload)
        until(lambda: len(raw_records(settings, topic)) > 0, "the bridge is at work")
        bridge.kill()
        publisher.await_confirmed()
    with bridging(settings):
        records = await_raw(settings, topic, len(sent))
    assert {record.value for record in records} == set(sent)


def test_kafka_killed_is_waited_for_and_nothing_is_lost(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge:
        publish_all(settings, topic, payloads(300))
        gone = servers.kill("kafka")
        publish_all(settings, topic, payloads(700, first=300))
        servers.await_ready("kafka", other_than=gone)
        records = await_raw(settings, topic, 1000)
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(1000))


def test_kafka_that_hangs_makes_the_bridge_hold_and_go_on(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge:
        publish_all(settings, topic, payloads(100))
        await_raw(settings, topic, 100)
        with hanging(servers.pid("kafka")):
            publish_all(settings, topic, payloads(900, first=100))
            # MQTT keeps the rest: the bridge takes no more than it may hold.
            bridge.await_log(f"Kafka does not confirm; holding {INFLIGHT} messages")
        bridge.await_log("Kafka confirms again")
        records = await_raw(settings, topic, 1000)
        assert bridge.stop() == 0
    assert len(records) == 1000


def test_qos_0_is_bounded_too_while_kafka_hangs(servers: Stack, settings: Settings, topic: str) -> None:
    large = [bytes([number]) * 100_000 for number in range(200)]
    with bridging(settings) as bridge:
        with hanging(servers.pid("kafka")):
            publish_all(settings, topic, large, qos=0)
            bridge.await_log("Kafka does not confirm; holding")
        bridge.await_log("Kafka confirms again")
        await_raw(settings, topic, INFLIGHT)
        assert bridge.stop() == 0
    held = bridge.log.split("holding ")[1].split()[0]
    assert int(held) <= 2 * INFLIGHT


@pytest.mark.parametrize("qos", [0, 1])
def test_large_messages_are_held_up_to_a_number_of_bytes_and_memory_stays_small(
    servers: Stack, settings: Settings, topic: str, qos: int
) -> None:
    roomy = with_page(settings, inflight=2000)
    size, limit = 100_000, roomy.bridge.inflight_bytes
    large = [bytes([number]) * size for number in range(250)]
    with bridging(roomy) as bridge:
        with hanging(servers.pid("kafka")):
            publish_all(settings, topic, large, qos)
            until(lambda: (metric(roomy, "in_flight") or 0) * size >= limit, "it holds all that it may")
            bridge.await_log("Kafka does not confirm; holding")
            held = int(metric(roomy, "in_flight") or 0)
            assert resident_bytes(bridge.process.pid) < 80_000_000
        bridge.await_log("Kafka confirms again")
        assert len(await_raw(settings, topic, len(large))) == len(large)
        assert bridge.stop() == 0
    assert held * size < limit + READ_BYTES + size


def test_mosquitto_restarted_in_the_middle_loses_nothing(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge:
        publish_all(settings, topic, payloads(300))
        servers.halt("mqtt")
        bridge.await_log("connecting again")
        until(lambda: metric(settings, "connected") == 0, "the metric tells that the broker is away")
        servers.resume("mqtt")
        servers.await_ready("mqtt")
        publish_all(settings, topic, payloads(300, first=300))
        await_metric(settings, "connected", 1)
        records = await_raw(settings, topic, 600)
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(600))
    assert "continuing the session" in bridge.log


def test_a_topic_that_vanishes_is_made_again_and_what_comes_then_arrives(
    settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge:
        publish_all(settings, topic, payloads(100))
        await_raw(settings, topic, 100)
        client = admin_client(settings)
        client.delete_topics([RAW])[RAW].result()
        publish_all(settings, topic, payloads(300, first=100))
        until(lambda: RAW in topic_names(settings), "the topic is there again")
        records = await_raw(settings, topic, 300)
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(300, first=100))


def test_a_bridge_that_holds_can_be_stopped_and_the_next_one_brings_the_rest(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge, hanging(servers.pid("kafka")):
        publish_all(settings, topic, payloads(200))
        bridge.await_log("Kafka does not confirm")
        assert bridge.stop() == 0
    with bridging(settings):
        records = await_raw(settings, topic, 200)
    assert {record.value for record in records} == set(payloads(200))


def test_a_message_larger_than_the_topic_takes_is_kept_as_a_file_and_holds_nobody_up(
    settings: Settings, topic: str
) -> None:
    large = os.urandom(20_000)
    small = payloads(200)
    with raw_topic_taking(settings, 10_000), bridging(settings) as bridge:
        publish_all(settings, topic, [*small[:100], large, *small[100:]])
        records = await_raw(settings, topic, len(small))
        bridge.await_log("Kafka does not take a message of 20000 bytes")
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(small)
    kept = list((settings.home / "refused").glob("*.payload"))
    assert [path.read_bytes() for path in kept] == [large]
    assert json.loads(kept[0].with_suffix(".json").read_text(encoding="utf-8"))["key"] == topic


def test_a_message_larger_than_a_record_goes_over_in_parts_and_is_one_again_for_its_readers(
    settings: Settings, topic: str
) -> None:
    in_parts = settings.model_copy(update={"parts": PartsSettings(over_bytes=5_000)})
    large, small = os.urandom(20_000), payloads(2)
    with raw_topic_taking(settings, 10_000), bridging(in_parts):
        publish_all(settings, topic, [small[0], large, small[1]])
        parts = await_raw(settings, topic, 2 + 4)
    with Consumer(settings, [RAW], start=EARLIEST, until_end=True) as records:
        found = [record.value for record in records if record.header(HEADER_TOPIC) == topic]
    assert sorted(filter(None, found)) == sorted([small[0], large, small[1]])
    assert [len(record.value or b"") for record in parts if record.header(HEADER_PART)] == [5_000] * 4
    assert not (settings.home / "refused").exists()


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def hanging(pid: int) -> Iterator[None]:
    """A process that is there but does nothing, as a machine out of breath."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def raw_topic_taking(settings: Settings, size: int) -> Iterator[None]:
    _limit(settings, size)
    try:
        yield
    finally:
        _limit(settings, MAX_MESSAGE_BYTES)


def _limit(settings: Settings, size: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, RAW, incremental_configs=[entry])
    client = admin_client(settings)
    for future in client.incremental_alter_configs([resource]).values():
        future.result()
