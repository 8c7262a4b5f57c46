"""`strom poll check` as people run it after writing the settings: a line for each adapter, and an exit code that tells."""

import os
import subprocess
import sys
from pathlib import Path

from strom.devices.box import RunningBox, running_box


def check(folder: Path, toml: str) -> subprocess.CompletedProcess[str]:
    (folder / "strom.toml").write_text(toml, encoding="utf-8")
    command = [sys.executable, "-m", "strom", "poll", "check"]
    return subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)


def by_rest(box: RunningBox, entry: str, more: str = "") -> str:
    return f'[adapters.{entry}]\nby = "rest"\naddress = "{box.host}:{box.rest_port}"\ntoken = "{box.token}"\n{more}\n'


def test_each_adapter_is_asked_and_what_is_missing_is_told_as_the_line_to_add(tmp_path: Path) -> None:
    with running_box(tmp_path / "box", name="haus-21") as box:
        first = check(tmp_path, by_rest(box, "keller"))
        assert first.returncode == 1
        line = first.stdout.split("put ")[1].split(" under [adapters.keller] in strom.toml")[0]
        by_modbus = f'[adapters.dach]\nby = "modbus"\naddress = "{box.host}:{box.modbus_port}"\n'
        second = check(tmp_path, by_rest(box, "keller", line) + by_modbus)
    assert second.returncode == 0, second.stderr
    keller, dach = second.stdout.splitlines()
    assert keller.startswith(f"keller (rest, {box.host}:{box.rest_port}): meter haus-21, ")
    assert dach.startswith(f"dach (modbus, {box.host}:{box.modbus_port}): meter haus-21, ")
    assert keller.split(": ")[1] == dach.split(": ")[1]


def test_one_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    with running_box(tmp_path / "box") as box:
        pinned = f'fingerprint = "{box.fingerprint}"'
        wrong = by_rest(box, "wrong", pinned).replace(box.token, "falsch")
        done = check(tmp_path, wrong + by_rest(box, "right", pinned))
    assert done.returncode == 1
    wrong_line, right_line = done.stdout.splitlines()
    assert "does not take the token" in wrong_line
    assert "falsch" not in wrong_line
    assert right_line.startswith("right (rest")


def test_without_adapters_it_says_what_to_set(tmp_path: Path) -> None:
    done = check(tmp_path, "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "put [adapters.NAME] with by and address into strom.toml" in done.stderr
