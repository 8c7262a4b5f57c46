"""As many connections as adapters: the system is asked for what that takes, and refusal is one sentence."""

import subprocess
import sys
from collections.abc import Callable
from threading import Event

import pytest

from strom.devices.adapter import Publisher
from strom.devices.adapter_line import Message
from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Timeline
from strom.settings import MqttSettings, Settings

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Timeline
from strom.errors import StromError
from strom.settings import Settings
try:
    Publisher(Fleet(300), Settings(), Timeline(), connections=300)
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except StromError as error:
    print(error)
"""


def under_limits(soft: int, hard: int) -> str:
    """What a publisher of 300 adapters says that may open so many files."""
    command = [sys.executable, "-c", LIMITED, str(soft), str(hard)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_the_system_is_asked_for_as_many_files_as_there_are_connections() -> None:
    assert under_limits(128, 1000) == "364"
    assert under_limits(500, 1000) == "500"


def test_more_connections_than_the_system_allows_are_refused_in_one_sentence() -> None:
    assert (
        under_limits(128, 256)
        == "300 connections need 364 open files and 256 are allowed; raise `ulimit -n`."
    )


@pytest.mark.stack
def test_whoever_asks_is_told_of_each_message_that_the_broker_has_confirmed(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    topic = unique("sma")
    host, port = stack.mqtt_address
    settings = Settings(mqtt=MqttSettings(address=f"{host}:{port}", topic=topic))
    confirmed: list[Message] = []
    fleet = Fleet(20, seed=int(topic[-6:], 16), topic=topic)  # client ids that nobody else has
    publisher = Publisher(fleet, settings, Timeline(live_s=2), on_confirmed=confirmed.append)
    progress = publisher.run(Event())
    assert progress.finished
    assert len(confirmed) == progress.published > 0
    assert all(message.topic.startswith(topic) for message in confirmed)
