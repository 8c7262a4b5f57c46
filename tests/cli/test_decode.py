"""`strom decode` as people run it: one JSON object a file and a line, and an exit code that tells."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PAYLOADS = Path(__file__).parent.parent / "payloads"


def strom(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "strom", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


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


@pytest.mark.parametrize("arguments", [["no-such-file"], ["-", "--received", "yesterday"]])
def test_what_cannot_be_read_is_one_sentence(arguments: list[str]) -> None:
    done = strom("decode", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(b"strom: ")
    assert len(done.stderr.splitlines()) == 1
    assert b"Traceback" not in done.stderr
