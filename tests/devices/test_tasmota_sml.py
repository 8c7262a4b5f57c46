"""Tasmota's messages: names that owners choose, a clock without a zone, one power for both directions."""

import json
from typing import Any

import pytest

from strom.devices.registry import dialects_of
from strom.devices.tasmota_sml import key_of
from strom.domain.reading import epoch_ms
from strom.settings import PageSettings, Settings
from tests.devices.samples import RECEIVED_MS, outcome


def message(time: object = "2025-11-15T21:15:00", **values: object) -> bytes:
    return json.dumps({"Time": time, "SML": values or {"Total_in": 12.5}}).encode()


def reading(
    payload: bytes, topic: str | None = "tele/haus-7/SENSOR", received_ms: int = RECEIVED_MS
) -> dict[str, Any]:
    return outcome("tasmota_sml", payload, topic, received_ms)


@pytest.mark.parametrize("name", ["Total_in", "total_in", "E_in", "1_8_0", "1-8-0", "1.8.0", " E_IN "])
def test_however_an_owner_writes_a_name_it_means_the_same(name: str) -> None:
    assert reading(message(**{name: 12.3456789}))["import_wh"] == 12345.679


@pytest.mark.parametrize(
    ("net", "drawn", "fed"), [(500, 500, 0), (-136.39, 0, 136.39), (0, 0, 0), ("-5", 0, 5)]
)
def test_one_power_says_both_directions(net: object, drawn: float, fed: float) -> None:
    found = reading(message(Power_curr=net))
    assert (found["import_w"], found["export_w"]) == (drawn, fed)


def test_two_powers_are_taken_as_they_are_and_one_alone_says_nothing_of_the_other() -> None:
    both = reading(message(Power_in=500, Power_out=0, Power=1))
    assert (both["import_w"], both["export_w"]) == (500, 0)
    alone = reading(message(Power_in=500))
    assert alone["import_w"] == 500
    assert "export_w" not in alone


def test_a_drawn_power_below_zero_goes_both_ways() -> None:
    found = reading(message(P_in=-250))
    assert (found["import_w"], found["export_w"]) == (0, 250)


@pytest.mark.parametrize("value", ["n/a", [1, 0, 0], {"a": 1}, 4294967295, True, ""])
def test_an_unreadable_value_is_left_out_and_flagged(value: object) -> None:
    found = reading(message(Total_in=5, Power_curr=value))
    assert found["import_wh"] == 5000
    assert not {"import_w", "export_w"} & set(found)
    assert found["flags"] == ["bad-value"]


def test_null_is_not_delivered_and_no_error() -> None:
    found = reading(message(Total_in=5, Power_curr=None))
    assert "import_w" not in found
    assert "flags" not in found


def test_a_power_of_zero_alone_is_a_power() -> None:
    assert reading(message(Power_curr=0))["import_w"] == 0


@pytest.mark.parametrize(
    ("local", "received", "at"),
    [
        ("2025-11-15T21:15:00", "2025-11-15T20:15:02Z", "2025-11-15T20:15:00Z"),
        ("2025-07-15T21:15:00", "2025-07-15T19:15:02Z", "2025-07-15T19:15:00Z"),
        ("2025-11-15T21:15:00+02:00", "2025-11-15T20:15:02Z", "2025-11-15T19:15:00Z"),
        # The hour that comes twice: the first time, and an hour later.
        ("2025-10-26T02:30:00", "2025-10-26T00:30:02Z", "2025-10-26T00:30:00Z"),
        ("2025-10-26T02:30:00", "2025-10-26T01:30:02Z", "2025-10-26T01:30:00Z"),
    ],
)
def test_the_time_is_local(local: str, received: str, at: str) -> None:
    found = reading(message(local), received_ms=epoch_ms(received))
    assert (found["at"], found["clock"]) == (at, "meter")


@pytest.mark.parametrize(
    "time", ["gestern", 5, [], "1970-06-11T05:35:26", "0001-01-01T00:00:00", "9999-12-31T23:59:59"]
)
def test_an_impossible_time_is_replaced_by_the_arrival(time: object) -> None:
    assert reading(message(time))["flags"] == ["clock-wrong"]


def test_a_message_without_a_time_says_so() -> None:
    assert reading(message(None))["flags"] == ["no-time"]


@pytest.mark.parametrize(
    ("topic", "key"),
    [
        ("tele/haus-7/SENSOR", "haus-7"),
        ("haus-7/tele/SENSOR", "haus-7"),
        ("stat/haus-7/STATUS10", "haus-7"),
        ("tele/keller/haus-7/SENSOR", "haus-7"),
        ("meters/haus-7", "haus-7"),
        ("tele/SENSOR", "SENSOR"),
    ],
)
def test_the_device_is_named_by_its_topic(topic: str, key: str) -> None:
    assert key_of(topic) == key
    assert reading(message(Total_in=5), topic)["meter"] == key


def test_only_a_topic_of_another_form_leaves_the_meter_unnamed() -> None:
    assert "flags" not in reading(message(Total_in=5), "tele/haus-7/SENSOR")
    assert reading(message(Total_in=5), "meters/haus-7")["flags"] == ["unnamed"]
    assert reading(message(Total_in=5, Meter_id="1EMH001"), "meters/haus-7")["meter"] == "1EMH001"
    assert reading(message(Total_in=5), None) == {"reason": "no-meter"}


def test_the_settings_tell_names_of_own_scripts_and_the_zone() -> None:
    names = {"Bezug": "import_wh Wh", "Pp": "import_w kW", "total_in": "export_wh kWh", "Nr": "meter_number"}
    own = Settings(tasmota_names=names, page=PageSettings(timezone="Europe/London"))
    found = dialects_of(own)["tasmota_sml"].decode(
        message(Bezug=12345, pp=0.244, Total_in=2, nr="A-7"), received_ms=RECEIVED_MS, topic="tele/x/SENSOR"
    )
    assert (found["import_wh"], found["import_w"], found["export_wh"]) == (12345, 244, 2000)
    assert (found["meter_number"], found["flags"]) == ("A-7", ["clock-wrong"])  # 21:15 in London is to come


def test_names_that_nobody_could_print_are_left_out() -> None:
    found = reading(
        json.dumps({"SML": {"Total_in": 5, "a\x00": 1, "\ud800": 2, "": 3, "x" * 65: 4, "fine": 6}}).encode()
    )
    assert found["other"] == {"fine": 6}
