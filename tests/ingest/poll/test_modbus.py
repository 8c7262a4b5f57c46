"""An adapter by Modbus: wherever its SunSpec map is, it is found once, and then a reading is one request."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from strom.devices.sunspec import COMMON, END, MARKER, METER, Identity, encode_common, encode_meter
from strom.devices.sunspec.meter import COUNTERS, MOMENTS, NETS
from strom.devices.sunspec.points import load_model
from strom.ingest.poll.modbus import METERS, ModbusAdapter
from strom.ingest.poll.trouble import Kind, Trouble
from tests.conftest import free_ports
from tests.ingest.poll.boxes import Box, modbus_box, play
from tests.ingest.poll.test_modbus_line import refusal

VALUES = {
    "import_wh": Decimal(123456),
    "export_wh": Decimal(7),
    "import_w": Decimal(412),
    "export_w": Decimal(0),
}
BOX = Identity("sma_AAEA40", "haus-21", "1KFM0200123456", "1.2.3")


@dataclass
class Registers:
    """A device with these registers, and no others."""

    held: dict[int, int] = field(default_factory=dict)

    def put(self, first: int, registers: Sequence[int]) -> "Registers":
        self.held |= {first + place: value for place, value in enumerate(registers)}
        return self

    def __call__(self, frame: bytes) -> bytes:
        address, count = struct.unpack(">HH", frame[8:])
        wanted = range(address, address + count)
        if not all(each in self.held for each in wanted):
            return refusal(frame, 2)
        body = struct.pack(f">B{count}H", 2 * count, *(self.held[each] for each in wanted))
        return frame[:4] + struct.pack(">H", len(body) + 2) + frame[6:8] + body


def sunspec_map(*models: Sequence[int], identity: Identity = BOX) -> list[int]:
    return [*MARKER, *encode_common(identity), *(each for model in models for each in model), END, 0]


def meter(number: int = METER.number) -> list[int]:
    return [number, *encode_meter(VALUES)[1:]]


def ask(device: Registers, /, times: int = 1, **more: Any) -> tuple[dict[str, object], Box]:
    async def scene() -> tuple[bytes, Box]:
        async with modbus_box(device) as box:
            adapter = ModbusAdapter("keller", box.settings(by="modbus", **more))
            try:
                for _ in range(times):
                    payload = await adapter.ask()
                return payload, box
            finally:
                await adapter.close()

    payload, box = play(scene())
    found: dict[str, object] = json.loads(payload)
    return found, box


def trouble(device: Registers, **more: Any) -> str:
    with pytest.raises(Trouble) as found:
        ask(device, **more)
    assert found.value.kind is Kind.MODBUS
    return str(found.value)


@pytest.mark.parametrize("base", [40_000, 50_000, 0])
def test_the_map_is_found_wherever_it_begins(base: int) -> None:
    found, _ = ask(Registers().put(base, sunspec_map(meter())))
    assert found["name"] == "haus-21"
    assert found["1-0:1.8.0"] == {"value": 123456}
    assert found["0-0:96.1.0"] == {"value": "1KFM0200123456"}


def test_once_the_map_is_known_a_reading_is_one_request() -> None:
    device = Registers().put(0, sunspec_map(meter()))
    first = len(ask(device)[1].requests)
    _, box = ask(device, times=5)
    assert box.requests[first:] == [(70, 107)] * 4
    assert box.connections == 1


def test_a_base_of_the_settings_is_the_only_one_tried() -> None:
    device = Registers().put(100, sunspec_map(meter()))
    assert (
        "no SunSpec map at 40000, 0, 50000; set where it begins as base under [adapters.keller]"
        in trouble(device)
    )
    assert ask(device, base=100)[1].requests[0] == (100, 2)


def test_other_models_before_the_meter_are_passed_over() -> None:
    other = [160, 3, 1, 2, 3]
    assert ask(Registers().put(40_000, sunspec_map(other, other, meter())))[0]["1-0:1.7.0"] == {"value": 412}


@pytest.mark.parametrize("number", METERS)
def test_every_integer_meter_model_has_its_points_where_203_has_them(number: int) -> None:
    model = load_model(number)
    used = {moment.point for moment in MOMENTS} | {net.point for net in NETS}
    used |= {name for counter in COUNTERS for name in counter.points}
    for name in used | {METER[name].scale or "" for name in used}:
        if name in model.points:  # one has no voltages to the neutral wire, another fewer phases
            assert replace(model[name], mandatory=True) == replace(METER[name], mandatory=True)
    assert model.size == METER.size
    assert ask(Registers().put(40_000, sunspec_map(meter(number))))[0]["1-0:1.8.0"] == {"value": 123456}


def test_a_map_without_a_meter_is_told_with_what_it_has() -> None:
    assert "no meter model (201 to 204), only these models: 1, 103" in trouble(
        Registers().put(40_000, sunspec_map([103, 2, 0, 0]))
    )


def test_a_map_that_does_not_end_is_given_up() -> None:
    endless = Registers().put(40_000, [*MARKER, *[64_000, 0] * 200])
    assert "no meter model" in trouble(endless)


def test_a_device_of_which_nothing_is_implemented_says_so() -> None:
    assert "none of its values" in trouble(Registers().put(40_000, sunspec_map(encode_meter({}))))


def test_the_name_of_the_settings_goes_before_the_devices_own() -> None:
    device = Registers().put(40_000, sunspec_map(meter()))
    assert (
        ask(device, name="ein Name, der länger ist als das Register")[0]["name"]
        == "ein Name, der länger ist als das Register"
    )


def test_a_device_without_a_common_model_has_no_name_of_its_own() -> None:
    found, _ = ask(Registers().put(40_000, [*MARKER, *meter(), END, 0]))
    assert found["name"] == ""


def test_a_map_that_has_moved_is_found_again() -> None:
    async def scene() -> None:
        device = Registers().put(40_000, sunspec_map(meter()))
        async with modbus_box(lambda frame: device(frame)) as box:
            adapter = ModbusAdapter("keller", box.settings(by="modbus"))
            await adapter.ask()
            device.held.clear()
            device.put(40_000, sunspec_map([160, 3, 1, 2, 3], meter()))
            with pytest.raises(Trouble):
                await adapter.ask()
            assert b"123456" in await adapter.ask()
            await adapter.close()

    play(scene())


def test_firmware_and_a_changed_name_come_with_the_status() -> None:
    async def scene() -> None:
        device = Registers().put(40_000, sunspec_map(meter()))
        async with modbus_box(lambda frame: device(frame)) as box:
            adapter = ModbusAdapter("keller", box.settings(by="modbus"))
            assert await adapter.ask_status() is None  # before the map is known
            await adapter.ask()
            device.put(40_002, encode_common(Identity("sma_AAEA40", "anders", None, "9.9")))
            status = await adapter.ask_status()
            assert status is not None
            assert status["fw_version"] == "9.9"
            assert json.loads(await adapter.ask())["name"] == "anders"
            await adapter.close()

    play(scene())


def test_the_common_model_fits_into_one_request() -> None:
    assert COMMON.size <= 125
    assert METER.size <= 125


def test_a_server_that_is_not_ours_is_read_alike() -> None:
    """Its frames and refusals are pymodbus' own."""

    async def scene() -> dict[str, Any]:
        [port] = free_ports(1)
        registers = SimData(50_000, values=sunspec_map(meter()), datatype=DataType.REGISTERS)
        server = ModbusTcpServer(SimDevice(7, registers), address=("127.0.0.1", port))
        await server.serve_forever(background=True)
        adapter = ModbusAdapter("keller", Box(port).settings(by="modbus", unit=7))
        try:
            await adapter.ask()
            found: dict[str, Any] = json.loads(await adapter.ask())
            return found
        finally:
            await adapter.close()
            await server.shutdown()  # type: ignore[no-untyped-call]

    found = play(scene())
    assert (found["name"], found["1-0:1.8.0"]) == ("haus-21", {"value": 123456})
