"""Three connections at once over all interfaces of a box, and what frees one."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from strom.devices.box import RunningBox, running_box
from strom.devices.sunspec import BASE
from strom.settings import MqttSettings, Settings
from tests.conftest import free_ports
from tests.devices.box.asking import is_closed, modbus, read_answer, read_request, rest, wire
from tests.waiting import until

Hold = Callable[[ExitStack, RunningBox], object]


def hold_rest(held: ExitStack, box: RunningBox) -> None:
    assert held.enter_context(rest(box)).get("/api/v1/status.json").status_code == 200


def hold_modbus(held: ExitStack, box: RunningBox) -> None:
    client = held.enter_context(modbus(box))
    assert client.read_holding_registers(BASE, count=1).registers == [0x5375]


def hold_silence(held: ExitStack, box: RunningBox) -> None:
    """Connects and says nothing, not even hello."""
    held.enter_context(wire(box.rest_port))


def refuses(port: int) -> bool:
    with wire(port) as fourth:
        return is_closed(fourth)


@pytest.mark.parametrize(
    "holders",
    [
        (hold_rest, hold_rest, hold_rest),
        (hold_modbus, hold_modbus, hold_modbus),
        (hold_rest, hold_modbus, hold_rest),
        (hold_modbus, hold_silence, hold_rest),
    ],
    ids=["rest", "modbus", "mixed", "silent"],
)
def test_a_fourth_connection_is_closed_at_once_and_a_freed_place_is_given_again(
    tmp_path: Path, holders: tuple[Hold, ...]
) -> None:
    with running_box(tmp_path) as box:
        with ExitStack() as one, ExitStack() as others:
            holders[0](one, box)
            for hold in holders[1:]:
                hold(others, box)
            until(lambda: box.box.connections.open == 3)
            assert refuses(box.rest_port)
            assert refuses(box.modbus_port)
            assert box.box.connections.refused == 2
            one.close()
            until(lambda: box.box.connections.open == 2)
            hold_modbus(one, box)
            assert refuses(box.rest_port)
        until(lambda: box.box.connections.open == 0)
        with ExitStack() as held:
            hold_rest(held, box)


def test_the_connection_to_the_broker_counts_whether_it_stands_or_not(tmp_path: Path) -> None:
    nowhere = Settings(home=tmp_path, mqtt=MqttSettings(port=free_ports(1)[0]))
    with running_box(tmp_path, mqtt=nowhere) as box, ExitStack() as held:
        hold_rest(held, box)
        hold_modbus(held, box)
        assert refuses(box.modbus_port)
        assert refuses(box.rest_port)


def test_a_connection_without_a_word_is_closed_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strom.devices.box.rest.IDLE_SECONDS", 0.2)
    monkeypatch.setattr("strom.devices.box.modbus.IDLE_SECONDS", 0.2)
    monkeypatch.setattr("strom.devices.box.listening.HANDSHAKE_SECONDS", 0.2)
    with running_box(tmp_path) as box:
        for port in (box.rest_port, box.modbus_port):
            with wire(port) as silent:
                assert is_closed(silent)
        with rest(box) as client:
            assert client.get("/api/v1/status.json").status_code == 200
            until(lambda: box.box.connections.open == 0)
            assert client.get("/api/v1/status.json").status_code == 200  # by a new connection


def test_a_box_that_is_switched_off_leaves_no_connection_open(tmp_path: Path) -> None:
    with running_box(tmp_path) as box, ExitStack() as held:
        connection = held.enter_context(wire(box.modbus_port))
        connection.sendall(read_request(1, BASE, 2))
        read_answer(connection)
        ports = box.rest_port, box.modbus_port
        held = held.pop_all()
    with held:
        assert is_closed(connection)
        for port in ports:
            with pytest.raises(ConnectionRefusedError), wire(port):
                pass
