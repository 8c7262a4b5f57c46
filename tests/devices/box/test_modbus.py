"""The Modbus interface of a box, asked by two clients that know nothing of Strom, and byte by byte."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.client import ModbusTcpClient

from strom.devices import adapter_json
from strom.devices.box import RunningBox, running_box
from strom.devices.box.modbus import answer_to
from strom.devices.simulator import FaultKind
from strom.devices.simulator.dialects import DIALECTS, ON_REQUEST
from strom.devices.simulator.premises import Kind
from strom.devices.sunspec import BASE, COMMON, METER, as_adapter_json, decode_common, decode_meter
from strom.devices.sunspec.meter import COUNTERS, MOMENTS, NETS
from tests.devices.box.asking import (
    is_closed,
    meter_registers,
    modbus,
    read_answer,
    read_request,
    sunspec,
    wire,
)

BY_MODBUS = (
    *(counter.field for counter in COUNTERS),
    *(field for net in NETS for field in net[:2]),
    *(moment.field for moment in MOMENTS),
)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBox]:
    with running_box(tmp_path_factory.mktemp("box"), rest=False) as running:
        yield running


def reading_by_modbus(client: ModbusTcpClient, received_ms: int) -> dict[str, object]:
    who = decode_common(client.read_holding_registers(BASE + 2, count=COMMON.size).registers)
    payload = as_adapter_json(
        decode_meter(meter_registers(client)), name=who.name, meter_number=who.meter_number
    )
    return adapter_json.decode(payload, received_ms=received_ms, source="modbus", topic="sma/x")


def reading_by_mqtt(box: RunningBox) -> dict[str, object]:
    payload = box.last_payload()
    assert payload is not None
    return adapter_json.decode(payload, received_ms=box.clock.now_ms, source="mqtt", topic="sma/x")


@pytest.mark.parametrize("dialect", [dialect.name for dialect in (*DIALECTS, *ON_REQUEST)])
def test_the_registers_say_what_the_push_says_in_every_dialect(tmp_path: Path, dialect: str) -> None:
    with running_box(tmp_path, rest=False, dialect=dialect) as box, modbus(box) as client:
        for _ in range(3):
            by_mqtt, by_modbus = reading_by_mqtt(box), reading_by_modbus(client, box.clock.now_ms)
            told = {field: by_mqtt[field] for field in BY_MODBUS if field in by_mqtt}
            if dialect == "long-dot":  # counts in parts of a Wh, the registers in whole ones
                told |= {field: int(told[field]) for field in told if field.endswith("h")}  # type: ignore[call-overload]
            if dialect in ("single", "import-only"):  # net power tells both directions
                told["export_w"] = 0
            if dialect == "import-only":  # a counter that is not there is one at 0, by SunSpec
                assert "export_wh" not in by_mqtt
                told["export_wh"] = 0
            assert {field: by_modbus[field] for field in BY_MODBUS if field in by_modbus} == told
            assert by_modbus.get("meter_number") == by_mqtt.get("meter_number")
            assert by_modbus["meter"] == by_mqtt["meter"]
            assert (by_modbus["clock"], by_modbus["at"]) == ("received", by_modbus["received"])
            box.push()


def test_a_solar_plant_that_feeds_in_has_negative_power(tmp_path: Path) -> None:
    noon = 1_750_500_000_000  # 2025-06-21, 12:00 in Vienna
    with running_box(tmp_path, rest=False, kind=Kind.SOLAR, at_ms=noon) as box:
        payload = reading_by_mqtt(box)
        with sunspec(box) as device:
            meter = device.models[203][0]
            assert meter.W.cvalue == -payload["export_w"] < 0  # type: ignore[operator]
            assert meter.TotWhExp.cvalue == payload["export_wh"]
        with modbus(box) as client:
            by_modbus = reading_by_modbus(client, box.clock.now_ms)
    assert (by_modbus["import_w"], by_modbus["export_w"]) == (0, payload["export_w"])


def test_the_client_of_sunspec_finds_the_models_by_itself(box: RunningBox) -> None:
    told = reading_by_mqtt(box)
    with sunspec(box) as device:
        common, meter = device.common[0], device.models[203][0]
        assert (common.Mn.value, common.Md.value) == ("Oesterreichs Energie", "Smart Meter Adapter")
        assert (common.Opt.value, common.SN.value) == ("box", told["meter_number"])
        points = {
            "W": "import_w",
            "TotWhImp": "import_wh",
            "TotVArhExpQ4": "reactive_export_varh",
            "PhVphA": "voltage_l1_v",
            "PhVphB": "voltage_l2_v",
            "PhVphC": "voltage_l3_v",
            "AphA": "current_l1_a",
            "AphC": "current_l3_a",
        }
        for point, field in points.items():
            assert getattr(meter, point).cvalue == pytest.approx(told[field]), point
        assert meter.VAR.cvalue == -told["reactive_export_var"]  # type: ignore[operator]
        assert meter.PF.cvalue == pytest.approx(float(Decimal(str(told["power_factor"])) * 100))
        for missing in ("Hz", "PPV", "PhVphAB", "WphA", "VA", "TotVAhImp", "TotVArhImpQ2"):
            assert getattr(meter, missing).value is None, missing


def test_a_meter_without_voltages_has_none_in_its_registers(tmp_path: Path) -> None:
    with running_box(tmp_path, rest=False, dialect="no-voltages") as box, modbus(box) as client:
        registers = meter_registers(client)
    for name in ("PhVphA", "PhVphB", "PhVphC", "PhV", "AphA", "AphB", "AphC", "A", "PF", "PF_SF", "VAR"):
        assert registers[METER[name].offset] == 0x8000, name


def test_a_counter_that_the_meter_does_not_send_is_not_implemented_in_its_registers(tmp_path: Path) -> None:
    with running_box(tmp_path, rest=False, dialect="import-only") as box, sunspec(box) as device:
        meter = device.models[203][0]
        assert meter.TotWhImp.cvalue == reading_by_mqtt(box)["import_wh"]
        assert meter.TotWhExp.value is None  # as SunSpec's own client reads it
        assert [meter.TotVArhImpQ1.value, meter.TotVArhExpQ4.value] == [None, None]


def test_more_power_than_a_register_holds_takes_a_coarser_scale(tmp_path: Path) -> None:
    with running_box(tmp_path, rest=False, faults=[FaultKind.OVERLOAD]) as box, modbus(box) as client:
        [fault] = box.box.adapter.faults
        box.clock.now_ms = fault.starts_ms + 10_000
        shown = reading_by_mqtt(box)["import_w"]
        registers = meter_registers(client)
        assert METER["W_SF"].raw(registers) == 1
        assert decode_meter(registers)["import_w"] == pytest.approx(Decimal(str(shown)), abs=5)


def test_a_silent_meter_leaves_the_registers_for_a_minute_and_then_empty(tmp_path: Path) -> None:
    with running_box(tmp_path, rest=False, faults=[FaultKind.SILENT]) as box, modbus(box) as client:
        [fault] = box.box.adapter.faults
        box.clock.now_ms = fault.starts_ms - 1
        last = meter_registers(client)
        box.clock.now_ms = fault.starts_ms + 50_000
        assert meter_registers(client) == last
        box.clock.now_ms = fault.starts_ms + 61_000
        assert decode_meter(meter_registers(client)) == {}
        who = decode_common(client.read_holding_registers(BASE + 2, count=COMMON.size).registers)
        assert who.name == "box"


def test_a_new_meter_has_another_number(tmp_path: Path) -> None:
    with running_box(tmp_path, rest=False, faults=[FaultKind.RESET]) as box, modbus(box) as client:
        before = reading_by_modbus(client, box.clock.now_ms)
        [fault] = box.box.adapter.faults
        box.clock.now_ms = fault.starts_ms
        box.push()
        after, told = reading_by_modbus(client, box.clock.now_ms), reading_by_mqtt(box)
    assert before["meter_number"] != after["meter_number"] == told["meter_number"]
    assert after["import_wh"] == told["import_wh"]


@pytest.mark.parametrize("function", [3, 4])
def test_holding_and_input_registers_are_the_same_for_any_unit(box: RunningBox, function: int) -> None:
    with modbus(box) as client:
        read = client.read_holding_registers if function == 3 else client.read_input_registers
        for unit in (1, 0, 247):
            assert read(BASE, count=2, device_id=unit).registers == [0x5375, 0x6E53]
        assert len(read(BASE, count=125).registers) == 125


@pytest.mark.parametrize(
    ("function", "address", "count", "exception"),
    [
        (6, BASE, 1, 1),
        (43, BASE, 1, 1),
        (3, 0, 2, 2),
        (3, BASE - 1, 2, 2),
        (4, BASE + 178, 2, 2),
        (3, 0xFFFF, 125, 2),
        (3, BASE, 0, 3),
        (3, BASE, 126, 3),
    ],
)
def test_what_cannot_be_answered_is_refused_by_its_number(
    box: RunningBox, function: int, address: int, count: int, exception: int
) -> None:
    with wire(box.modbus_port) as connection:
        connection.sendall(read_request(7, address, count, function))
        assert read_answer(connection) == (7, bytes((function | 0x80, exception)))
        connection.sendall(read_request(8, BASE, 1))
        assert read_answer(connection) == (8, b"\x03\x02Su")


def test_several_requests_in_one_segment_and_one_in_many_are_answered_in_order(box: RunningBox) -> None:
    with wire(box.modbus_port) as connection:
        connection.sendall(b"".join(read_request(number, BASE + number, 1) for number in range(5)))
        assert [read_answer(connection)[0] for _ in range(5)] == list(range(5))
        for byte in read_request(99, BASE, 2):
            connection.sendall(bytes((byte,)))
        assert read_answer(connection) == (99, b"\x03\x04SunS")


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x01\x00\x07\x00\x06\x01\x03\x00\x00\x00\x01",
        b"\x00\x01\x00\x00\x00\x01\x01",
        b"\x00\x01\x00\x00\xff\xff\x01" + bytes(300),
    ],
    ids=["http", "protocol", "too short", "too long"],
)
def test_garbage_closes_the_connection_and_the_next_is_served(box: RunningBox, garbage: bytes) -> None:
    with wire(box.modbus_port) as connection:
        connection.sendall(garbage)
        assert is_closed(connection)
    with modbus(box) as client:
        assert client.read_holding_registers(BASE, count=1).registers == [0x5375]


@given(st.binary(min_size=1, max_size=253))
def test_every_request_has_an_answer(request: bytes) -> None:
    answer = answer_to(request, range(179), BASE)
    assert answer[0] & 0x7F == request[0] & 0x7F
    assert 2 <= len(answer) <= 252
