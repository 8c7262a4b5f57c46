"""What a dead letter would be now, told in the dialect that it came in."""

from collections import Counter

import pytest

from strom.cli.letter_view import _now, decoded, summary
from strom.settings import Settings
from strom.streams.dead_letters import DeadLetter
from strom.streams.record import Record
from tests.devices.samples import payload_of

NOON_MS = 1_794_740_400_000  # 2026-11-15T11:00:00Z


def letter(value: bytes, dialect: str | None, topic: str = "p1/haus-7/telegram", **more: str) -> DeadLetter:
    headers = {"strom-source": "mqtt", "strom-received": str(NOON_MS), "strom-topic": topic}
    headers |= {name.replace("_", "-"): text for name, text in more.items()}
    headers |= {} if dialect is None else {"strom-dialect": dialect}
    pairs = tuple((name, text.encode()) for name, text in headers.items())
    return DeadLetter(Record("sma-kafka.dead-letter", 0, 7, b"haus-7", value, pairs, NOON_MS))


def test_a_letter_is_read_in_its_dialect() -> None:
    found = decoded(letter(payload_of("dsmr_p1", "belgium.txt"), "dsmr_p1"), Settings())
    assert (found["meter"], found["export_w"]) == ("1SAG3100215264", 23)
    spoilt = decoded(letter(payload_of("dsmr_p1", "wrong-crc.txt"), "dsmr_p1"), Settings())
    assert spoilt["reason"] == "bad-telegram"


def test_names_that_the_settings_tell_now_are_known() -> None:
    buried = letter(b'{"SML":{"Bezug":12.5}}', "tasmota_sml", "tele/haus-7/SENSOR")
    assert decoded(buried, Settings())["reason"] == "no-known-register"
    assert decoded(buried, Settings(tasmota_names={"Bezug": "import_wh kWh"}))["import_wh"] == 12500


@pytest.mark.parametrize("dialect", [None, "adapter_json", "klingon"])
def test_without_a_dialect_that_is_known_it_is_an_adapters(dialect: str | None) -> None:
    found = decoded(letter(b'{"name":"haus-2","1-0:1.8.0":{"value":1}}', dialect), Settings())
    assert (found["meter"], found["import_wh"]) == ("haus-2", 1)


def test_a_part_of_a_large_message_is_not_taken_for_a_message() -> None:
    part = {"strom_part": "0123456789abcdef/1/5/0123456789abcdef", "strom_reason": "bad-chunk"}
    found = decoded(letter(b'{"name":"haus-2","1-0:1.8.0":{"value":1}}', None, **part), Settings())
    assert found["reason"] == "bad-chunk"
    assert found["detail"].startswith("part 2 of 5 of a large message; ")
    odd = decoded(letter(b"", None, **part | {"strom_part": "x"}), Settings())
    assert odd["detail"] == "the header strom-part is none of a part of a large message"


def test_a_reason_that_somebody_else_wrote_cannot_command_the_terminal() -> None:
    foreign = "x\x1b[2J\r\x9b31m"
    assert summary(Counter({"not-json": 1200, foreign: 2})) == (
        r"1,202 dead letters: 1,200 not-json, 2 x\x1b[2J\r\x9b31m"
    )
    assert summary(Counter()) == "0 dead letters"
    part = {"strom_part": "0123456789abcdef/1/5/0123456789abcdef", "strom_reason": foreign}
    assert _now(letter(b"", None, **part), Settings()).startswith(r"still x\x1b[2J\r\x9b31m: part 2 of 5")
