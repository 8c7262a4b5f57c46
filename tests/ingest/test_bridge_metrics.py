"""What can go wrong around a bridge gives a metric and a log line, and loses nothing: lines, queues, disks."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from strom.backoff import Backoff
from strom.ingest.bridge import Bridge
from strom.ingest.broker_watch import BrokerWatch
from strom.settings import MqttSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams.admin import ensure_contract_topics
from tests.conftest import free_ports, settings_in
from tests.ingest.bridging import (
    Publisher,
    await_raw,
    bridging,
    own_bridge,
    payloads,
    publish_all,
    raw_records,
    with_page,
)
from tests.ingest.kept_batches import batches_of
from tests.ingest.line_proxy import proxied
from tests.ingest.metrics_page import await_metric, metric
from tests.outages import full_disk, halted
from tests.waiting import until

pytestmark = pytest.mark.stack

INFLIGHT = 50


@pytest.fixture
def settings(servers: Stack, tmp_path: Path, topic: str) -> Settings:
    return with_page(own_bridge(servers.settings, tmp_path, topic, inflight=INFLIGHT))


def test_the_page_tells_what_was_carried_and_what_waits(settings: Settings, topic: str) -> None:
    with bridging(settings):
        publish_all(settings, topic, payloads(100))
        await_raw(settings, topic, 100)
        await_metric(settings, "acknowledged_total", 100)
        assert metric(settings, "received_total") == metric(settings, "forwarded_total") == 100
        assert (metric(settings, "connected"), metric(settings, "holding")) == (1, 0)
        until(lambda: metric(settings, "in_flight") == 0)


def test_background_work_that_fails_is_told_counted_and_goes_on(
    settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker's statistics and the look for the topics; the injected failure stands for a fault of ours."""
    failing = {"broker-watch": 2, "topic-gate": 1}

    def fail(work: str) -> None:
        if failing[work]:
            failing[work] -= 1
            raise ValueError(f"injected into {work}")

    def follow(watch: BrokerWatch, backoff: Backoff) -> None:
        fail("broker-watch")
        followed(watch, backoff)

    def ensure(*given: Any, **named: Any) -> list[str]:
        fail("topic-gate")
        return ensure_contract_topics(*given, **named)

    followed = BrokerWatch._follow
    monkeypatch.setattr(BrokerWatch, "_follow", follow)
    monkeypatch.setattr("strom.ingest.gate.ensure_contract_topics", ensure)
    ready = Event()
    bridge = Bridge(settings, ready.set)
    thread = Thread(target=bridge.run)
    thread.start()
    try:
        assert ready.wait(60), "the bridge is ready, although its gate failed once"
        publish_all(settings, topic, payloads(10))
        await_raw(settings, topic, 10)
        until(lambda: bridge._watch.tellings, "the broker's statistics arrive")
    finally:
        bridge.stop()
        thread.join()
    assert bridge.counters.background_restarts == 3
    for work in ("broker-watch", "topic-gate"):
        assert f"{work} failed (ValueError: injected into {work}); it is started again in" in caplog.text


def test_a_line_that_goes_dead_without_a_word_is_noticed_and_nothing_is_lost(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with proxied(servers.settings.mqtt_address) as line:
        mqtt = settings.mqtt.model_copy(update={"address": line.address})
        through = with_page(settings, keep_alive=2).model_copy(update={"mqtt": mqtt})
        with bridging(through) as bridge:
            publish_all(settings, topic, payloads(50))
            await_raw(settings, topic, 50)
            line.go_dead()
            publish_all(settings, topic, payloads(50, first=50))
            bridge.await_log("does not answer; connecting again")
            records = await_raw(settings, topic, 100)
            assert (metric(through, "reconnects_total") or 0) >= 1
            assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(100))


def test_what_is_published_while_the_line_to_the_broker_is_cut_arrives_when_it_is_mended(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with proxied(servers.settings.mqtt_address) as line:
        mqtt = settings.mqtt.model_copy(update={"address": line.address})
        through = settings.model_copy(update={"mqtt": mqtt})
        with bridging(through) as bridge:
            publish_all(settings, topic, payloads(50))
            await_raw(settings, topic, 50)
            assert metric(through, "connected") == 1
            line.cut()
            bridge.await_log("connecting again in")
            until(lambda: metric(through, "connected") == 0, "the metric tells that it is away")
            publish_all(settings, topic, payloads(100, first=50))
            assert len(raw_records(settings, topic)) == 50
            line.mend()
            await_metric(through, "connected", 1)
            records = await_raw(settings, topic, 150)
            assert metric(through, "reconnects_total") == 1
            assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(150))


def test_kafka_that_is_away_is_told_and_the_queue_grows_where_it_is_safe(
    servers: Stack, settings: Settings, topic: str
) -> None:
    with bridging(settings) as bridge:
        publish_all(settings, topic, payloads(100))
        await_raw(settings, topic, 100)
        servers.halt("kafka")
        publish_all(settings, topic, payloads(900, first=100))
        bridge.await_log(f"Kafka does not confirm; holding {INFLIGHT} messages")
        await_metric(settings, "held_total", 1)
        assert (metric(settings, "holding"), metric(settings, "in_flight")) == (1, INFLIGHT)
        await_metric(settings, "queued", 900 - INFLIGHT)  # told also while the bridge reads nothing
        servers.resume("kafka")
        servers.await_ready("kafka")
        records = await_raw(settings, topic, 1000)
        until(lambda: metric(settings, "holding") == 0)
        until(lambda: metric(settings, "queued") == 0)
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(payloads(1000))
    assert metric(settings, "dropped_total") is None  # the page is gone with the bridge


def test_a_full_disk_of_the_broker_is_waited_for_and_nothing_is_lost(
    servers: Stack, settings: Settings, topic: str
) -> None:
    large = [b"%05d" % number + os.urandom(20_000) for number in range(300)]
    with bridging(settings) as bridge:
        with full_disk(servers.pid("kafka")), Publisher(settings, topic) as publisher:
            for payload in large:
                publisher.send(topic, payload)
            publisher.await_confirmed()
            bridge.await_log("Kafka does not confirm; holding")
            await_metric(settings, "held_total", 1)
        servers.await_ready("kafka")
        records = await_raw(settings, topic, len(large))
        assert bridge.stop() == 0
    assert {record.value for record in records} == set(large)


@pytest.fixture
def small_queue(tmp_path: Path) -> Iterator[Settings]:
    """A Mosquitto that keeps 100 messages for a bridge that is away."""
    settings = settings_in(tmp_path / "mosquitto")
    mqtt = MqttSettings(port=settings.mqtt.port, queue_messages=100)
    with Stack(settings.model_copy(update={"mqtt": mqtt}), ["mqtt"]) as stack:
        yield stack.settings


def test_a_full_queue_drops_the_newest_and_tells_how_many(
    servers: Stack, small_queue: Settings, tmp_path: Path, topic: str
) -> None:
    host, port = small_queue.mqtt_address
    own = own_bridge(servers.settings, tmp_path, topic)
    mqtt = own.mqtt.model_copy(update={"address": f"{host}:{port}"})
    settings = with_page(own).model_copy(update={"mqtt": mqtt})
    with bridging(settings) as bridge:
        assert bridge.stop() == 0  # from now on there is a session to keep messages for
    publish_all(settings, topic, payloads(250))
    with bridging(settings) as bridge:
        await_metric(settings, "dropped_total", 150)
        bridge.await_log("the MQTT broker has dropped 150 messages because a queue was full")
        records = await_raw(settings, topic, 100)
        until(lambda: metric(settings, "queued") == 0)
        assert bridge.stop() == 0
    assert [record.value for record in records] == payloads(100)


@pytest.mark.parametrize("limit", ["queue_messages", "queue_bytes"])
def test_where_the_oldest_are_to_go_the_bridge_makes_room_for_the_newest(
    servers: Stack, tmp_path: Path, topic: str, limit: str
) -> None:
    sent, room, step = payloads(250), 100, 25
    own = own_bridge(servers.settings, tmp_path, topic, inflight=INFLIGHT)
    # Of the limits that Mosquitto has, only that of bytes includes what the bridge holds.
    limits = {limit: room if limit == "queue_messages" else (room + INFLIGHT) * len(sent[-1])}
    mqtt = MqttSettings.model_validate(
        {"port": free_ports(1)[0], "topic": topic, "queue_drops": "oldest"} | limits
    )
    with Stack(own.model_copy(update={"mqtt": mqtt}), ["mqtt"]) as broker:
        address = "{}:{}".format(*broker.settings.mqtt_address)
        settings = with_page(own.model_copy(update={"mqtt": mqtt.model_copy(update={"address": address})}))

        def let_go() -> int:
            return round(metric(settings, "let_go_total") or 0)

        def there_is_room(count: int) -> bool:
            return count - INFLIGHT - let_go() <= room - step

        with bridging(settings) as bridge:
            with halted(servers):
                for count in range(step, len(sent) + 1, step):
                    publish_all(settings, topic, sent[count - step : count])
                    until(partial(there_is_room, count), "there is room for the next ones")
                bridge.await_log("the oldest messages are dropped (mqtt.queue_drops)")
            until(lambda: metric(settings, "acknowledged_total") == len(sent), "the queue is empty")
            assert (metric(settings, "dropped_total"), metric(settings, "held_total")) == (0, 1)
            gone = let_go()
            assert bridge.stop() == 0
    assert 0 < gone < len(sent)
    assert [record.value for record in raw_records(settings, topic)] == sent[gone:]


@pytest.mark.parametrize("qos", [0, 1])
def test_what_is_published_while_the_bridge_is_away_waits_at_either_qos(
    settings: Settings, topic: str, qos: int
) -> None:
    with bridging(settings) as bridge:
        assert bridge.stop() == 0
    publish_all(settings, topic, payloads(50), qos)
    with bridging(settings):
        assert {record.value for record in await_raw(settings, topic, 50)} == set(payloads(50))


def test_batches_that_grow_for_long_do_not_hold_up_what_there_is_no_room_for(
    settings: Settings, topic: str
) -> None:
    patient = with_page(settings, linger_ms=60_000)
    with bridging(patient) as bridge:
        publish_all(settings, topic, payloads(4 * INFLIGHT))
        await_metric(patient, "acknowledged_total", 4 * INFLIGHT)
        publish_all(settings, topic, payloads(1, first=4 * INFLIGHT))
        await_metric(patient, "received_total", 4 * INFLIGHT + 1)
        assert bridge.stop() == 0  # with the last one, which had time to wait
    assert "acknowledged 201" in bridge.log


@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip", "snappy", "none"])
def test_batches_are_kept_by_kafka_as_the_bridge_compressed_them(
    servers: Stack, settings: Settings, topic: str, compression: str
) -> None:
    with bridging(with_page(settings, compression=compression, linger_ms=300)):
        publish_all(settings, topic, payloads(100))
        records = await_raw(settings, topic, 100)
    assert {record.value for record in records} == set(payloads(100))
    batches = batches_of(servers.settings, records)
    assert max(batch.records for batch in batches) > 1
    assert {batch.compression for batch in batches if batch.records > 1} == {compression}


def test_a_thinning_bridge_acknowledges_what_it_leaves_out(settings: Settings, topic: str) -> None:
    start = 1_763_230_500
    sent = [
        b'{"name":"m","1-0:1.8.0":{"value":%d,"time":%d}}' % (number, start + 5 * number)
        for number in range(60)
    ]
    thinned = with_page(settings, every="15s")
    with bridging(thinned) as bridge:
        publish_all(settings, topic, [*sent, b"not json", b"not json"])
        await_metric(thinned, "acknowledged_total", len(sent) + 2)
        assert metric(thinned, "thinned_total") == 40
        assert bridge.stop() == 0
    values = [record.value for record in raw_records(settings, topic)]
    assert [value for value in values if value != b"not json"] == sent[::3]
    assert values.count(b"not json") == 2
