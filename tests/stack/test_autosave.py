"""A Mosquitto whose disk is full is told of, and saves as soon as there is room; a real one on a small disk."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from tests.ingest.bridging import Publisher
from tests.stack.servers import MqttSession, keep_in_mosquitto
from tests.waiting import until

pytestmark = pytest.mark.stack

CANNOT, AGAIN = "Mosquitto cannot save what it keeps", "Mosquitto saves what it keeps again"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is not slow need not be waited for as long."""
    monkeypatch.setattr("strom.stack.autosave.QUIET_SECONDS", 1.0)


def mount(folder: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be made here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(own_settings: Settings) -> Iterator[Path]:
    """Where Mosquitto keeps its file, with room for a megabyte."""
    folder = own_settings.home / "mosquitto"
    folder.mkdir(parents=True)
    mount(folder, "size=1m")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_once_and_what_was_kept_in_memory_is_saved_when_there_is_room(
    own_settings: Settings, small_disk: Path
) -> None:
    said: list[str] = []
    with Stack(own_settings, ["mqtt"], report=said.append) as stack:
        still_there = keep_in_mosquitto(own_settings)
        sent = fill(own_settings, client_id="away")
        until(lambda: any(CANNOT in line for line in said), "it is told that the disk is full")
        assert not any(AGAIN in line for line in said)
        mount(small_disk, "remount,size=16m")
        until(lambda: any(AGAIN in line for line in said), "it is told that there is room")
        assert sum(CANNOT in line for line in said) == 1
        stack.await_ready("mqtt", other_than=stack.kill("mqtt"))
        session = MqttSession(own_settings, "away")
        try:
            assert [session.received.get(timeout=60) for _ in sent] == sent
        finally:
            session.close()
        still_there()


def test_a_file_that_cannot_be_written_is_told_too(own_settings: Settings) -> None:
    folder = own_settings.home / "mosquitto"
    in_the_way = folder / "mosquitto.db.new"
    (in_the_way / "folder").mkdir(parents=True)
    said: list[str] = []
    with Stack(own_settings, ["mqtt"], report=said.append):
        fill(own_settings, client_id="away")
        until(lambda: any(CANNOT in line and str(folder) in line for line in said), "it is told")
        (in_the_way / "folder").rmdir()
        in_the_way.rmdir()
        until(lambda: any(AGAIN in line for line in said), "it is told that it saves again")
        assert (folder / "mosquitto.db").is_file()


def fill(settings: Settings, client_id: str) -> list[bytes]:
    """Two megabytes for a session that is away."""
    session = MqttSession(settings, client_id)
    session.subscribe("full")
    session.close()
    sent = [os.urandom(100_000) for _ in range(20)]
    with Publisher(settings, f"for-{client_id}") as publisher:
        for payload in sent:
            publisher.send("full", payload)
        publisher.await_confirmed()
    return sent
