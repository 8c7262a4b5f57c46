"""Other meters over the bridge: their topics are read beside the adapters', and each record tells what it speaks."""

from pathlib import Path

import pytest

from strom.settings import Settings
from strom.streams.topics import HEADER_DIALECT, HEADER_TOPIC
from tests.devices.samples import payload_of
from tests.ingest.bridging import Publisher, await_raw, bridging, own_bridge, publish_all
from tests.ingest.test_bridge import Unique

pytestmark = pytest.mark.stack


@pytest.fixture
def topic(unique: Unique) -> str:
    return unique("house")


@pytest.fixture
def settings(stack: Settings, tmp_path: Path, topic: str) -> Settings:
    rules = {
        f"{topic}/p1/+/telegram": "dsmr_p1",
        f"{topic}/tele/+/SENSOR": "tasmota_sml",
        f"{topic}/+/events/rpc": "shelly_3em",
        f"{topic}/adapter/garage": "tasmota_sml",  # the adapters' own filter names it, too
    }
    return own_bridge(stack, tmp_path, f"{topic}/adapter", client_id=f"bridge-{topic}").model_copy(
        update={"dialects": rules}
    )


def test_rules_stamp_dialect_and_key(settings: Settings, topic: str) -> None:
    sent = {
        "p1/haus-1/telegram": ("dsmr_p1", b"haus-1", payload_of("dsmr_p1", "v5.txt")),
        "p1/haus-2/telegram": ("dsmr_p1", b"haus-2", b"\x00 no telegram"),
        "tele/haus-3/SENSOR": ("tasmota_sml", b"haus-3", payload_of("tasmota_sml", "feeding-in.json")),
        "haus-4/events/rpc": ("shelly_3em", b"haus-4", payload_of("shelly_3em", "pro-em.json")),
        "adapter/garage": ("tasmota_sml", b"garage", payload_of("tasmota_sml", "power-alone.json")),
        "adapter/haus-6": ("adapter_json", b"named", b'{"name":"named"}'),
    }
    with bridging(settings), Publisher(settings, topic) as publisher:
        for name, (_, _, payload) in sent.items():
            publisher.send(f"{topic}/{name}", payload)
        publisher.send(f"{topic}/tele/haus-3/STATE", b"{}")  # nobody asks for it
        publisher.send(f"{topic}/adapter/last", b'{"name":"last"}')
        records = await_raw(settings, topic, len(sent) + 1)
    found = {record.header(HEADER_TOPIC): record for record in records}
    assert len(records) == len(found) == len(sent) + 1
    for name, (dialect, key, payload) in sent.items():
        record = found[f"{topic}/{name}"]
        assert (record.header(HEADER_DIALECT), record.key, record.value) == (dialect, key, payload)


def test_one_meter_stays_in_order_whatever_topics_it_sends_on(settings: Settings, topic: str) -> None:
    shelly = settings.model_copy(update={"dialects": {f"{topic}/+/status/#": "shelly_3em"}})
    with bridging(shelly), Publisher(shelly, topic) as publisher:
        for number in range(300):
            part = ("em:0", "emdata:0")[number % 2]
            publisher.send(f"{topic}/haus-{number % 3}/status/{part}", b'{"n":%d}' % number)
        records = await_raw(shelly, topic, 300)
    for key in (b"haus-0", b"haus-1", b"haus-2"):
        own = [record for record in records if record.key == key]
        assert len(own) == 100
        assert len({record.partition for record in own}) == 1
        numbers = [
            int((record.value or b"")[5:-1]) for record in sorted(own, key=lambda record: record.offset)
        ]
        assert numbers == sorted(numbers)


def test_a_rule_that_was_taken_out_is_no_longer_read(settings: Settings, topic: str) -> None:
    with bridging(settings):
        publish_all(settings, f"{topic}/tele/haus-3/SENSOR", [b"before"])
        await_raw(settings, topic, 1)
    without = settings.model_copy(update={"dialects": {}})
    with bridging(without):
        publish_all(without, f"{topic}/tele/haus-3/SENSOR", [b"after"])
        publish_all(without, f"{topic}/adapter", [b"last"])
        values = {record.value for record in await_raw(without, topic, 2)}
    assert values == {b"before", b"last"}
