"""Shelly's messages: power and energy apart, phases that are not valid, and what the device itself calls wrong."""

import json
from typing import Any

import pytest

from strom.devices.shelly_3em import key_of
from tests.devices.samples import outcome, payload_of

TOPIC = "shellypro3em-1/events/rpc"


def pro(topic: str | None = TOPIC, ts: object = 1_763_239_999.5, **em: object) -> dict[str, Any]:
    payload = {
        "src": "shellypro3em-1",
        "method": "NotifyStatus",
        "params": {"ts": ts, "em:0": {"id": 0, **em}},
    }
    return outcome("shelly_3em", json.dumps(payload).encode(), topic)


def first(**changes: object) -> dict[str, Any]:
    """The message of a first-generation 3EM, with the first phase changed."""
    message = json.loads(payload_of("shelly_3em", "3em-info.json"))
    message["emeters"][0].update(changes)
    return outcome("shelly_3em", json.dumps(message).encode(), "shellies/haus-7/info")


def test_a_message_may_have_power_and_energy_at_once() -> None:
    params = {
        "ts": 1_763_239_999.5,
        "em:0": {"total_act_power": -5.5},
        "emdata:0": {"total_act": 7.25, "total_act_ret": 3},
    }
    payload = json.dumps({"src": "s-1", "method": "NotifyFullStatus", "params": params}).encode()
    found = outcome("shelly_3em", payload, TOPIC)
    assert (found["import_w"], found["export_w"]) == (0, 5.5)
    assert (found["import_wh"], found["export_wh"]) == (7.25, 3)
    assert found["at"] == "2025-11-15T20:53:19.500Z"


def test_null_is_not_delivered_and_no_error() -> None:
    found = pro(a_voltage=230.1, b_voltage=None, total_act_power=None)
    assert found["voltage_l1_v"] == 230.1
    assert not {"voltage_l2_v", "import_w", "flags"} & set(found)


def test_what_the_device_calls_wrong_is_left_out_with_the_sum() -> None:
    found = pro(
        a_voltage=290, a_current=1, a_errors=["out_of_range:voltage"], b_voltage=230, total_act_power=5
    )
    assert (found["current_l1_a"], found["voltage_l2_v"]) == (1, 230)
    assert not {"voltage_l1_v", "import_w"} & set(found)
    assert found["flags"] == ["bad-value"]


def test_a_broken_meter_says_nothing() -> None:
    found = pro(a_voltage=230, total_act_power=5, errors=["power_meter_failure"])
    assert set(found) == {"v", "meter", "at", "received", "source", "clock", "meter_number", "flags"}
    assert found["flags"] == ["bad-value"]


@pytest.mark.parametrize("told", [["phase_sequence"], [], None, "power_meter_failure", [5]])
def test_other_remarks_of_the_device_change_nothing(told: object) -> None:
    found = pro(a_voltage=230, total_act_power=5, errors=told, a_errors=told)
    assert (found["voltage_l1_v"], found["import_w"]) == (230, 5)
    assert "flags" not in found


@pytest.mark.parametrize(
    "changes", [{"is_valid": False}, {"is_valid": None}, {"total": "n/a"}, {"power": [1]}]
)
def test_without_all_three_phases_there_is_no_sum(changes: dict[str, object]) -> None:
    found = first(**changes)
    assert found["flags"] == ["bad-value"]
    assert found["voltage_l2_v"] == 235.57
    if "is_valid" in changes:
        assert not {"import_wh", "export_wh", "import_w", "voltage_l1_v"} & set(found)
    if "total" in changes:
        assert "import_wh" not in found
        assert found["export_wh"] == 428962.5


def test_the_power_of_the_phases_is_added_where_the_device_does_not() -> None:
    message = json.loads(payload_of("shelly_3em", "3em-info.json"))
    del message["total_power"]
    found = outcome("shelly_3em", json.dumps(message).encode(), "shellies/haus-7/info")
    assert (found["import_w"], found["export_w"]) == (212.85, 0)


@pytest.mark.parametrize("unixtime", [0, 1_893_456_000])
def test_a_clock_that_is_not_set_is_replaced_by_the_arrival(unixtime: int) -> None:
    found = pro(ts=unixtime, total_act_power=1)
    assert (found["clock"], found["flags"]) == ("received", ["no-time" if unixtime == 0 else "clock-wrong"])


@pytest.mark.parametrize(
    ("topic", "key"),
    [
        ("shellies/shellyem3-1/info", "shellyem3-1"),
        ("shellies/shellyem3-1/emeter/0/power", "shellyem3-1"),
        ("shellypro3em-1/events/rpc", "shellypro3em-1"),
        ("haus/keller/status/em:0", "keller"),
        ("shellies/keller/status/emdata:0", "keller"),
        ("anything/else", "else"),
    ],
)
def test_the_device_is_named_by_its_topic(topic: str, key: str) -> None:
    assert key_of(topic) == key
    found = pro(topic, total_act_power=1)
    assert found["meter"] == (key if key != "else" else "shellypro3em-1")
    assert "flags" not in found


@pytest.mark.parametrize(
    ("topic", "payload", "reason"),
    [
        ("shellies/x/emeter/3/power", b"1", "not-an-object"),
        ("shellies/x/emeter/0/colour", b"1", "no-known-register"),
        ("shellies/x/emeter/0/power", b"[1]", "not-an-object"),
        ("shellies/x/emeter/0/power", b"null", "not-an-object"),
        ("shellies/x/online", b"true", "not-an-object"),
        ("shellies/x/announce", b'{"id":"shellyem3-1","model":"SHEM-3"}', "no-known-register"),
        (
            "x/events/rpc",
            b'{"method":"NotifyStatus","params":{"ts":1,"sys":{"cfg_rev":1}}}',
            "no-known-register",
        ),
        ("x/info", b'{"emeters":[1,2,3]}', "no-known-register"),
        (None, b"230", "not-an-object"),
    ],
)
def test_what_a_device_says_beside_is_refused(topic: str | None, payload: bytes, reason: str) -> None:
    assert outcome("shelly_3em", payload, topic) == {"reason": reason}
