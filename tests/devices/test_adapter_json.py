"""The adapter's JSON, message by message: what each real shape must become, and what is refused and why."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.devices.adapter_json import decode
from strom.domain.obis import REGISTERS
from strom.domain.reading import REASONS, Rejected

PAYLOADS = Path(__file__).parent.parent / "payloads"
EXPECTED: dict[str, dict[str, Any]] = json.loads((PAYLOADS / "expected.json").read_text())
RECEIVED_MS = 1_763_240_000_000  # 2025-11-15T20:53:20Z


def message(name: object = "haus-1", **registers: object) -> bytes:
    codes = {"import_wh": "1-0:1.8.0", "import_w": "1-0:1.7.0", "voltage": "1-0:32.7.0"}
    members = {codes.get(key, key): content for key, content in registers.items()}
    return json.dumps({"api_version": "v1", "name": name, "sma_time": 1.5, **members}).encode()


def entry(value: object, time: object = 1_763_230_500) -> dict[str, object]:
    return {"value": value, "time": time}


def outcome(payload: bytes, topic: str | None = None) -> dict[str, Any]:
    try:
        return decode(payload, received_ms=RECEIVED_MS, topic=topic)
    except Rejected as rejected:
        return {"reason": rejected.reason}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sample_payload_comes_out_as_expected(name: str) -> None:
    expected = EXPECTED[name]
    found = outcome((PAYLOADS / name).read_bytes(), topic="sma")
    assert {key: found.get(key) for key in expected if key not in ("absent", "flags")} == {
        key: value for key, value in expected.items() if key not in ("absent", "flags")
    }
    assert not set(expected.get("absent", [])) & set(found)
    assert set(expected.get("flags", [])) <= set(found.get("flags", []))


@pytest.mark.parametrize("register", REGISTERS, ids=lambda register: register.code)
def test_every_spelling_of_a_register_means_the_same(register: Any) -> None:
    readings = [
        outcome(
            json.dumps(
                {"name": "m", spelling: entry("A7" if register.field == "meter_number" else 7)}
            ).encode()
        )
        for spelling in register.spellings
    ]
    if register.has_field:
        assert all(reading[register.field] in (7, "A7") for reading in readings)
    else:
        assert [reading["other"] for reading in readings] == [
            {spelling: 7} for spelling in register.spellings
        ]


@pytest.mark.parametrize(
    "payload",
    [b"", b"   ", b"\x00\x01\xff", b"{", b'{"a":NaN}', b'{"a":1} x', b"{'a':1}", b'{"a":01}', b'{"a":"\x01"}',
     b'{"n":' + b"9" * 1001 + b"}", b'{"a":"\xff"}', b"[" * 100_000],
)  # fmt: skip
def test_what_is_not_strict_json_is_refused(payload: bytes) -> None:
    assert outcome(payload, topic="sma") == {"reason": "not-json"}


@pytest.mark.parametrize("payload", [b"null", b"1", b'"text"', b"[]", b"true"])
def test_json_that_is_no_object_is_refused(payload: bytes) -> None:
    assert outcome(payload, topic="sma") == {"reason": "not-an-object"}


def test_without_name_number_and_topic_nobody_can_tell_the_meter() -> None:
    assert outcome(message(name="", import_wh=entry(1))) == {"reason": "no-meter"}


def test_without_name_the_last_level_of_the_topic_names_the_meter() -> None:
    found = outcome(message(name="", import_wh=entry(1)), topic="sma/keller")
    assert (found["meter"], found["flags"]) == ("keller", ["unnamed"])


def test_a_name_that_no_database_takes_is_none() -> None:
    found = outcome(message(name="a\x00b", import_wh=entry(1)), topic="sma/keller")
    assert (found["meter"], found["flags"]) == ("keller", ["unnamed"])
    assert outcome(message(name="", import_wh=entry(1)), topic="sma/" + "x" * 201) == {"reason": "no-meter"}


def test_a_message_with_only_ids_is_a_reading() -> None:
    found = outcome(b'{"name":"","0-0:96.1.0":{"value":"AT-1"}}')
    assert (found["meter"], found["clock"], found["flags"]) == ("AT-1", "received", ["no-time"])


def test_a_time_under_the_number_code_is_no_meter_number_and_no_error() -> None:
    found = outcome(message(**{"0-0:96.1.1": {"value": "2025-11-15 19:15:00"}}, import_wh=entry(1)))
    assert "meter_number" not in found
    assert "flags" not in found


def test_zero_is_the_device_way_to_say_that_it_has_no_time() -> None:
    assert outcome(message(import_wh=entry(1, 0)))["flags"] == ["no-time"]


@pytest.mark.parametrize("time", [1_104_625_548, RECEIVED_MS // 1000 + 301, "gestern", -5])
def test_an_impossible_time_is_replaced_by_the_arrival(time: object) -> None:
    found = outcome(message(import_wh=entry(1, time)))
    assert (found["at"], found["clock"], found["flags"]) == (
        "2025-11-15T20:53:20Z",
        "received",
        ["clock-wrong"],
    )


def test_the_latest_plausible_time_counts() -> None:
    found = outcome(
        message(import_wh=entry(1, 1_763_230_500), import_w=entry(2, 1_763_230_505), voltage=entry(230, 0))
    )
    assert (found["at"], found["clock"]) == ("2025-11-15T18:15:05Z", "meter")


def test_null_is_not_delivered_and_no_error() -> None:
    found = outcome(message(import_wh=entry(1), import_w=entry(None)))
    assert "import_w" not in found
    assert "flags" not in found


@pytest.mark.parametrize(
    "value", [4294967295, "4294967295", 4294967.295, "n/a", True, {"a": 1}, [1], "", 1e300, "1e15"]
)
def test_an_unreadable_value_is_left_out_and_flagged(value: object) -> None:
    found = outcome(message(import_wh=entry(1), import_w=entry(value)))
    assert "import_w" not in found
    assert found["flags"] == ["bad-value"]


def test_a_register_that_is_no_object_is_left_out_and_flagged() -> None:
    found = outcome(message(import_wh=entry(1), import_w=5))
    assert "import_w" not in found
    assert found["flags"] == ["bad-value"]


def test_a_spoiled_tariff_makes_no_total() -> None:
    found = outcome(message(**{"1-0:1.8.1": entry(1000), "1-0:1.8.2": entry(4294967295)}))
    assert "import_wh" not in found
    assert found["import_t1_wh"] == 1000


def test_numbers_keep_three_decimals() -> None:
    found = outcome(message(import_wh=entry("12.0005"), import_w=entry(0.1 + 0.2)))
    assert (found["import_wh"], found["import_w"]) == (12.001, 0.3)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_payload_raises_anything_but_the_declared_rejection(payload: bytes) -> None:
    found = outcome(payload)
    assert found.get("reason") in REASONS or found["meter"]
