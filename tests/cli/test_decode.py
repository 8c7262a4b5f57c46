"""`strom decode` as people run it: one JSON object a file and a line, and an exit code that tells."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from strom.domain.dialects import NAMES

PAYLOADS = Path(__file__).parent.parent / "payloads"


def strom(
    *arguments: str | Path, stdin: bytes = b"", folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "strom", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=folder)


def test_readings_are_printed_a_line_each() -> None:
    done = strom("decode", PAYLOADS / "standard.json", PAYLOADS / "prefix-1-1.json")
    assert done.returncode == 0
    assert [json.loads(line)["meter"] for line in done.stdout.splitlines()] == ["haus-21", "ooe-7"]


def test_a_refused_payload_is_told_with_its_reason_and_the_others_still_come() -> None:
    done = strom("decode", PAYLOADS / "not-json.txt", PAYLOADS / "standard.json")
    refused, reading = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 1
    assert set(refused) == {"reason", "detail"}
    assert refused["reason"] == "not-json"
    assert reading["meter"] == "haus-21"


def test_standard_input_is_a_file_too() -> None:
    payload = b'{"name":"","1-0:1.8.0":{"value":1}}'
    done = strom("decode", "-", "--topic", "sma/keller", "--received", "2026-11-15T20:15:00Z", stdin=payload)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "v": 1,
        "meter": "keller",
        "at": "2026-11-15T20:15:00Z",
        "received": "2026-11-15T20:15:00Z",
        "source": "mqtt",
        "clock": "received",
        "import_wh": 1,
        "flags": ["no-time", "unnamed"],
    }


def test_a_payload_is_read_in_the_dialect_that_is_named() -> None:
    done = strom("decode", "--dialect", "dsmr_p1", PAYLOADS / "dsmr_p1" / "belgium.txt")
    assert done.returncode == 0
    assert json.loads(done.stdout)["meter"] == "1SAG3100215264"
    refused = strom("decode", "--dialect", "dsmr_p1", PAYLOADS / "dsmr_p1" / "cut-off.txt")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["reason"] == "bad-telegram"


def test_without_a_dialect_the_rules_for_the_topic_choose_it(tmp_path: Path) -> None:
    names = "[tasmota_names]\nBezug = 'import_wh kWh'\n"
    (tmp_path / "strom.toml").write_text("[dialects]\n'tele/+/SENSOR' = 'tasmota_sml'\n" + names)
    payload = b'{"SML":{"Bezug":12.5}}'
    done = strom("decode", "-", "--topic", "tele/haus-7/SENSOR", stdin=payload, folder=tmp_path)
    assert json.loads(done.stdout)["import_wh"] == 12500
    other = strom("decode", "-", "--topic", "sma/haus-7", stdin=payload, folder=tmp_path)
    assert json.loads(other.stdout)["reason"] == "no-known-register"


def test_the_dialects_are_listed() -> None:
    done = strom("decode", "--list-dialects")
    assert [line.split()[0] for line in done.stdout.decode().splitlines()] == list(NAMES)


@pytest.mark.parametrize(
    "arguments",
    [["no-such-file"], ["-", "--received", "yesterday"], [], ["-", "--dialect", "klingon"]],
)
def test_what_cannot_be_read_is_one_sentence(arguments: list[str]) -> None:
    done = strom("decode", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(b"strom: ")
    assert len(done.stderr.splitlines()) == 1
    assert b"Traceback" not in done.stderr
