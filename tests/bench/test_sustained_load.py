"""The load of `strom bench sustained`: real messages at a steady rate, each confirmed by a real Mosquitto."""

import os
import signal
from collections.abc import Callable
from typing import Any

import mqtt5
import pytest

from strom.bench.sustained.load import CONNECTIONS, Load, blocks, confirmations, loading
from strom.bench.sustained.messages import Block, name_of
from strom.devices.adapter_json import decode
from strom.errors import StromError
from strom.mqtt.packets import pubacks, split
from strom.mqtt.transport import Endpoint
from strom.settings import Settings
from tests.waiting import until

NOW_MS = 1_795_028_008_937


def packets_of(data: bytes | bytearray) -> list[Any]:
    packets: list[mqtt5.Packet] = []
    assert split(memoryview(bytes(data)), packets) == len(data)
    return packets


def readings_of(data: bytes | bytearray) -> list[dict[str, Any]]:
    return [
        decode(packet.payload, received_ms=NOW_MS + 100_000, topic=packet.topic)
        for packet in packets_of(data)
    ]


def test_each_message_is_a_whole_reading_of_its_meter_with_the_time_of_its_push() -> None:
    block = Block("sma", range(7, 57), range(1, 51), 5.0)
    for push in range(30):
        now_ms = NOW_MS + push * 5_017
        data = block.stamp(now_ms)
        for number, (packet, reading) in enumerate(zip(packets_of(data), readings_of(data), strict=True)):
            name = name_of(7 + number)
            assert (packet.topic, packet.packet_id, reading["meter"]) == (f"sma/{name}", 1 + number, name)
            assert packet.user_properties == [("strom-published", str(now_ms))]
            assert reading["clock"] == "meter"
            assert "flags" not in reading or not reading["flags"]
            assert 540 <= len(packet.payload) <= 550


def test_counters_grow_by_what_the_power_says_and_numbers_move() -> None:
    block = Block("sma", range(50), range(1, 51), 5.0)
    first = readings_of(block.stamp(NOW_MS))
    second = first
    for push in range(1, 721):
        second = readings_of(block.stamp(NOW_MS + push * 5_000))  # an hour later
    for before, after in zip(first, second, strict=True):
        assert after["import_wh"] - before["import_wh"] == pytest.approx(before["import_w"], abs=15)
    assert [each["voltage_l1_v"] for each in first] != [each["voltage_l1_v"] for each in second]


def test_all_meters_have_a_turn_and_a_packet_id_of_their_own_on_a_connection() -> None:
    load = Load(Endpoint("127.0.0.1", 1), "sma", 2000, 10_000)
    names: set[str] = set()
    ids: dict[int, set[int]] = {number: set() for number in range(CONNECTIONS)}
    for number, block in enumerate(blocks(load)):
        for packet in packets_of(block.stamp(NOW_MS)):
            names.add(packet.topic)
            assert packet.packet_id not in ids[number % CONNECTIONS]
            ids[number % CONNECTIONS].add(packet.packet_id)
    assert len(names) == 10_000
    assert sum(map(len, ids.values())) == 10_000


def test_confirmations_are_counted_however_the_bytes_are_cut() -> None:
    unheard = mqtt5.PubAckPacket(
        packet_id=9, reason_code=mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS
    ).write()
    assert confirmations(pubacks([1, 2, 0x4002])) == ((3, 0), b"")
    assert confirmations(pubacks([1, 2])[:-1]) == ((1, 0), pubacks([2])[:-1])
    assert confirmations(pubacks([1]) + unheard) == ((2, 1), b"")
    assert confirmations(b"") == ((0, 0), b"")


def test_a_message_that_the_broker_refuses_ends_the_load() -> None:
    refused = mqtt5.PubAckPacket(packet_id=9, reason_code=mqtt5.PubAckReasonCode.NOT_AUTHORIZED).write()
    with pytest.raises(StromError, match="refused a message: not_authorized"):
        confirmations(refused)


@pytest.mark.stack
def test_every_message_is_confirmed_by_the_broker(stack: Settings, unique: Callable[[str], str]) -> None:
    load = Load(Endpoint.of(stack), unique("load"), 500, 40)
    with loading(load) as process:
        until(lambda: process.counts.sent.value > 200, "messages were sent")
        process.check()
        process.stop()
        counts = process.counts
    assert counts.sent.value == counts.confirmed.value > 200
    assert counts.unheard.value == counts.confirmed.value  # nobody listens on that topic
    assert counts.began_ms.value < counts.last_round_ms.value


def test_a_broker_that_is_not_there_is_told() -> None:
    with (
        pytest.raises(StromError, match=r"load generator ended: .*refused"),
        loading(Load(Endpoint("127.0.0.1", 1), "sma", 10, 10)),
    ):
        pass


@pytest.mark.stack
def test_a_load_that_ends_by_itself_is_told(stack: Settings, unique: Callable[[str], str]) -> None:
    with loading(Load(Endpoint.of(stack), unique("load"), 10, 10)) as process:
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(StromError, match="load generator ended"):
            until(process.check, "the end is noticed")
