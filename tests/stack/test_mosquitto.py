"""What the embedded Mosquitto is told: how much it keeps, what it counts, how many may connect."""

import resource
from pathlib import Path

import pytest

from strom.settings import MqttSettings, Settings
from strom.stack.mosquitto import Mosquitto
from strom.stack.supervisor import Stack


def told(home: Path, **mqtt: object) -> dict[str, str]:
    """Its configuration, by name."""
    part = Mosquitto(Settings(home=home, mqtt=MqttSettings.model_validate(mqtt)))
    part.prepare()
    lines = (part.data / "mosquitto.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def test_without_a_wish_the_queue_has_no_limit_and_keeps_every_qos(tmp_path: Path) -> None:
    found = told(tmp_path)
    assert (found["max_queued_messages"], found["max_queued_bytes"]) == ("0", "0")
    assert found["queue_qos0_messages"] == "true"


def test_the_limits_of_the_queue_are_those_of_the_settings(tmp_path: Path) -> None:
    found = told(tmp_path, queue_messages=1000, queue_bytes=5_000_000, queue_qos0=False)
    assert (found["max_queued_messages"], found["max_queued_bytes"]) == ("1000", "5000000")
    assert found["queue_qos0_messages"] == "false"


@pytest.mark.stack
def test_it_may_open_as_many_files_as_the_system_allows(running_stack: Stack) -> None:
    limits = Path(f"/proc/{running_stack.pid('mqtt')}/limits").read_text(encoding="ascii").splitlines()
    (files,) = [line.split() for line in limits if line.startswith("Max open files")]
    assert files[3] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
