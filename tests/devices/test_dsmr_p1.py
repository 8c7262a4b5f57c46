"""Telegrams, line by line: units, clocks, ids, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.devices.dsmr_p1 import MAX_BYTES, key_of
from strom.domain.reading import REASONS
from tests.devices.samples import RECEIVED_MS, outcome, payload_of


def crc16(telegram: str) -> str:
    """CRC-16/ARC, written down once more so that the library is not its own judge."""
    crc = 0
    for byte in telegram.encode("latin-1"):
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return f"{crc:04X}"


def telegram(*lines: str, head: str = "/ISk5\\2MT382-1000", crc: str | None = None) -> bytes:
    body = "\r\n".join([head, "", *lines, "!"])
    return f"{body}{crc16(body) if crc is None else crc}\r\n".encode("latin-1")


IMPORT = "1-0:1.8.0(000012.345*kWh)"


def test_a_made_telegram_reads_as_a_real_one_does() -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, "1-0:1.7.0(00.244*kW)"), "p1/haus-7/telegram")
    assert (found["meter"], found["import_wh"], found["import_w"]) == ("haus-7", 12345, 244)


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("1-0:1.8.0(000012.345*kWh)", "import_wh", 12345),
        ("1-0:1.8.0(000012345*Wh)", "import_wh", 12345),
        ("1-0:1.8.0*255(00052185.7825309*kWh)", "import_wh", 52185782.531),
        ("1-0:3.8.0(00000518.309*kVArh)", "reactive_import_varh", 518309),
        ("1-0:4.7.0(0000.309*kvar)", "reactive_export_var", 309),
        ("1-0:32.7.0(0230.1*V)", "voltage_l1_v", 230.1),
        ("1-0:13.7.0(0.758)", "power_factor", 0.758),
        ("1-0:14.7.0(49.98*Hz)", "frequency_hz", 49.98),
    ],
)
def test_a_value_comes_in_the_unit_of_its_field(line: str, field: str, value: float) -> None:
    found = outcome("dsmr_p1", telegram(line), "p1/x")
    assert found[field] == value
    assert "bad-value" not in found.get("flags", [])


@pytest.mark.parametrize(
    "line",
    ["1-0:1.7.0(--.---*kW)", "1-0:1.7.0(00.244*kWh)", "1-0:1.7.0(00.244)", "1-0:1.7.0(1*2*3)", "1-0:1.7.0(00.244*kW",
     "1-0:1.7.0(4294967.295*kW)"],
)  # fmt: skip
def test_one_bad_value_costs_only_itself(line: str) -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, line), "p1/x")
    assert found["import_wh"] == 12345
    assert "import_w" not in found
    assert "bad-value" in found["flags"]


def test_an_empty_value_is_not_delivered_and_no_error() -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, "1-0:1.7.0()", "0-0:96.13.0()"), "p1/x")
    assert "import_w" not in found
    assert "bad-value" not in found["flags"]


@pytest.mark.parametrize(
    ("clock", "at"),
    [
        ("251115211500W", "2025-11-15T20:15:00Z"),
        ("251115221500S", "2025-11-15T20:15:00Z"),  # the flag counts, not the season
        ("250715211500W", "2025-07-15T20:15:00Z"),
        ("251115211500", "2025-11-15T20:15:00Z"),
        ("251026023000S", "2025-10-26T00:30:00Z"),
        ("251026023000W", "2025-10-26T01:30:00Z"),
    ],
)
def test_the_clock_says_by_its_flag_what_time_it_is(clock: str, at: str) -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, f"0-0:1.0.0({clock})"), "p1/x")
    assert (found["at"], found["clock"]) == (at, "meter")


@pytest.mark.parametrize(
    "clock", ["632525252525S", "251115211500X", "gestern", "000101000000W", "301115211500W"]
)
def test_an_impossible_clock_is_replaced_by_the_arrival(clock: str) -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, f"0-0:1.0.0({clock})"), "p1/x")
    assert (found["clock"], found["flags"]) == ("received", ["clock-wrong", "unnamed"])


@pytest.mark.parametrize(
    ("sent", "number"),
    [
        ("4B384547303034303436333935353037", "K8EG004046395507"),
        ("204B413655303031363630323937393132", "KA6U001660297912"),
        ("3960221976967177082151037881335713", "3960221976967177082151037881335713"),
        ("1ESY1313002565", "1ESY1313002565"),
    ],
)
def test_the_meter_number_reads_as_it_is_printed(sent: str, number: str) -> None:
    found = outcome("dsmr_p1", telegram(IMPORT, f"0-0:96.1.1({sent})"), "p1/x")
    assert (found["meter"], found["meter_number"]) == (number, number)
    assert "unnamed" not in found["flags"]


def test_what_hangs_on_the_meter_does_not_give_it_its_number() -> None:
    gas = (
        "0-1:24.1.0(003)",
        "0-1:96.1.1(37464C4F32313230323038343530)",
        "0-1:24.2.3(251115210000W)(00371.471*m3)",
    )
    water = ("0-2:24.1.0(007)", "0-2:24.2.1(251115210000W)(00012.5*m3)")
    found = outcome("dsmr_p1", telegram(IMPORT, *gas, *water), "p1/keller")
    assert (found["meter"], found.get("meter_number")) == ("keller", None)
    assert found["other"] == {
        "0-1:24.1.0": 3,
        "0-1:96.1.1": "7FLO2120208450",
        "0-1:24.2.3": 371.471,
        "0-2:24.1.0": 7,
        "0-2:24.2.1": 12.5,
    }


def test_a_code_that_only_begins_like_a_known_one_is_another() -> None:
    found = outcome("dsmr_p1", telegram("1-0:1.8.0(000012.345*kWh)", "1-0:1.8.10(999999.999*kWh)"), "p1/x")
    assert found["import_wh"] == 12345
    assert "import_t1_wh" not in found


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b"/ISk5",
        telegram(IMPORT)[1:],
        telegram(IMPORT)[:-8],
        telegram(IMPORT, crc="FFFF"),
        telegram(IMPORT, crc="12"),
        telegram(IMPORT, crc="g5fe"),
        telegram("1-3:0.2.8(50)", IMPORT, crc=""),
        telegram("0-0:96.1.4(50217)", IMPORT, crc=""),
        telegram(IMPORT) + telegram(IMPORT),
        telegram(IMPORT, "0-0:96.13.0(" + "30" * MAX_BYTES + ")"),
        bytes.fromhex("db085341475967700000018201023000000001"),  # encrypted, as Luxembourg's meters send
    ],
)
def test_what_is_no_whole_telegram_is_refused(payload: bytes) -> None:
    assert outcome("dsmr_p1", payload, "p1/x") == {"reason": "bad-telegram"}


def test_a_telegram_without_a_known_line_is_refused() -> None:
    assert outcome("dsmr_p1", telegram("0-1:24.1.0(003)"), "p1/x") == {"reason": "no-known-register"}


def test_before_the_fourth_version_there_is_no_checksum() -> None:
    assert outcome("dsmr_p1", telegram(IMPORT, crc=""), "p1/x")["import_wh"] == 12345


def test_nobody_can_tell_the_meter_without_number_and_topic() -> None:
    assert outcome("dsmr_p1", telegram(IMPORT)) == {"reason": "no-meter"}


@pytest.mark.parametrize(
    ("topic", "key"),
    [("p1/haus-7/telegram", "haus-7"), ("p1/haus-7", "haus-7"), ("dsmr/raw", "dsmr"), ("telegram", "telegram"),
     ("/telegram", "telegram"), ("a/b/", "a/b/")],
)  # fmt: skip
def test_the_key_is_whose_topic_it_is(topic: str, key: str) -> None:
    assert key_of(topic) == key


values = st.text("0123456789.*-:kWhVAmSW()", max_size=20)
codes = st.sampled_from(
    [
        "1-0:1.8.0",
        "1-0:1.8.1",
        "1-0:1.7.0",
        "0-0:1.0.0",
        "0-0:96.1.1",
        "0-1:24.2.1",
        "1-0:99.97.0",
        "0-0:98.1.0",
    ]
)


@given(st.lists(st.tuples(codes, values, st.lists(values, max_size=3)), max_size=6))
def test_no_whole_telegram_raises_anything_but_the_declared_rejection(
    lines: list[tuple[str, str, list[str]]],
) -> None:
    text = [f"{code}({value})" + "".join(f"({each})" for each in more) for code, value, more in lines]
    found = outcome("dsmr_p1", telegram(*text), "p1/x")
    assert found.get("reason") in REASONS or found["meter"]


def test_what_one_telegram_says_does_not_change_the_next() -> None:
    payload = payload_of("dsmr_p1", "v4_2.txt")
    first = outcome("dsmr_p1", payload, "p1/x", RECEIVED_MS)
    outcome("dsmr_p1", payload_of("dsmr_p1", "belgium.txt"), "p1/x", RECEIVED_MS)
    assert outcome("dsmr_p1", payload, "p1/x", RECEIVED_MS) == first
