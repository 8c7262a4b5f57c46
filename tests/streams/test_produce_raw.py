"""`strom produce` into the raw topic is one of the doors: what it writes there looks as what the others write."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from strom.cli.message_source import Message
from strom.cli.produce_heading import heading
from strom.settings import MqttSettings, Settings
from strom.streams.admin import admin_client
from strom.streams.murmur2 import key_hash
from strom.streams.offsets import all_topics
from strom.streams.outgoing import Header
from strom.streams.record import Record
from strom.streams.topics import RAW
from tests.streams.writing import lying_in, strom, topic_of

Unique = Callable[[str], str]
NAMED = b'{"name":"haus-21"}'
NAMELESS = b'{"1-0:1.8.0":{"value":1}}'


def headed(
    *given: Header, value: bytes = NAMED, key: bytes | None = None
) -> tuple[bytes | None, list[Header]]:
    settings = Settings(mqtt=MqttSettings(topic="sma"))
    return heading(RAW, list(given), settings)(Message("line 1", value, value, key))


def test_the_headers_of_every_door_are_set() -> None:
    _, headers = headed(("mine", "1"))
    found = dict(headers)
    received = found.pop("strom-received")
    assert isinstance(received, str)
    assert abs(int(received) - time.time() * 1000) < 60_000
    assert found == {"mine": "1", "strom-source": "kafka", "strom-dialect": "adapter_json"}


def test_what_a_sender_tells_is_not_told_otherwise() -> None:
    given: list[Header] = [("strom-source", "mqtt"), ("strom-dialect", "dsmr_p1"), ("strom-received", "17")]
    assert headed(*given)[1] == given


@pytest.mark.parametrize(
    ("given", "value", "key"),
    [
        ([], NAMED, b"haus-21"),
        ([], NAMELESS, b"strom-produce"),
        ([], b"no json", b"strom-produce"),
        ([("strom-topic", "sma/adapter-7")], NAMELESS, b"adapter-7"),
        ([("strom-topic", "sma/adapter-7")], NAMED, b"haus-21"),
        ([("strom-dialect", "tasmota_sml"), ("strom-topic", "tele/hichi/SENSOR")], NAMED, b"hichi"),
        ([("strom-dialect", "dsmr_p1")], b"/ISk5 telegram", b"strom-produce"),
        ([("strom-dialect", "nobody knows")], NAMED, b"haus-21"),
    ],
)
def test_the_key_is_the_one_that_the_bridge_would_give(given: list[Header], value: bytes, key: bytes) -> None:
    assert headed(*given, value=value)[0] == key


def test_a_key_that_is_given_holds() -> None:
    assert headed(key=b"mine")[0] == b"mine"


@pytest.mark.stack
def test_messages_for_other_topics_are_written_as_they_are_given(stack: Settings, unique: Unique) -> None:
    topic = topic_of(stack, unique("plain"))
    assert strom(stack, "produce", topic, given=NAMED.decode()).returncode == 0
    (record,) = lying_in(stack, topic)
    assert (record.key, record.headers) == (None, ())


@pytest.mark.stack
@pytest.mark.parametrize("mode", ["--async", "--sync"])
def test_a_meter_stays_in_order_on_one_partition_though_nobody_gave_a_key(
    stack: Settings, unique: Unique, mode: str
) -> None:
    meters = [unique(f"m{number}") for number in range(8)]
    counts = range(30)

    def send(mine: list[str]) -> int:
        lines = "".join(json.dumps({"name": meter, "n": count}) + "\n" for count in counts for meter in mine)
        return strom(stack, "produce", RAW, mode, given=lines).returncode

    with ThreadPoolExecutor(2) as senders:
        assert [*senders.map(send, [meters[::2], meters[1::2]])] == [0, 0]
    found: dict[bytes, list[Record]] = defaultdict(list)
    for record in lying_in(stack, RAW):
        found[record.key or b""].append(record)
    partitions = all_topics(stack, admin_client(stack))[RAW]
    for meter in meters:
        mine = found[meter.encode()]
        assert [json.loads(record.value or b"")["n"] for record in mine] == [*counts]
        assert {record.partition for record in mine} == {key_hash(meter.encode()) % partitions}
        assert {record.header("strom-source") for record in mine} == {"kafka"}
