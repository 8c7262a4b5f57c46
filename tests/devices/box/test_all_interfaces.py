"""One box with all its interfaces at a real broker: what MQTT carries is what REST and Modbus tell."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from strom.devices import adapter_json
from strom.devices.box import running_box
from strom.devices.simulator import FaultKind
from strom.devices.sunspec import decode_meter
from strom.settings import Settings
from strom.stack.ready import announced_pid
from strom.stack.supervisor import Stack
from tests.conftest import free_ports
from tests.devices.box.asking import SECONDS, meter_registers, modbus, rest
from tests.waiting import until

pytestmark = pytest.mark.stack


@contextmanager
def heard_at(settings: Settings, topic: str) -> Iterator[list[bytes]]:
    """Everything that the broker passes on, by a client that knows nothing of Strom."""
    heard: list[bytes] = []
    client = paho.Client(CallbackAPIVersion.VERSION2)
    subscribed: list[bool] = []
    client.on_message = lambda _client, _data, message: heard.append(bytes(message.payload))
    client.on_subscribe = lambda *_: subscribed.append(True)
    client.connect(*settings.mqtt_address)
    client.subscribe(topic, qos=1)
    client.loop_start()
    try:
        until(lambda: bool(subscribed))
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()


def on_topic(settings: Settings, topic: str) -> Settings:
    return settings.model_copy(update={"mqtt": settings.mqtt.model_copy(update={"topic": topic})})


def test_every_push_is_the_same_by_mqtt_rest_and_modbus(
    stack: Settings, unique: Callable[[str], str], tmp_path: Path
) -> None:
    settings = on_topic(stack, unique("sma"))
    with (
        heard_at(settings, settings.mqtt.topic) as heard,
        running_box(tmp_path, mqtt=settings, faults=[FaultKind.MALFORMED]) as box,
        rest(box) as client,
        modbus(box) as registers,
    ):
        told, shown = [], []
        for _ in range(8):
            told.append(client.get("/api/v1/measurement").content)
            shown.append(decode_meter(meter_registers(registers)))
            box.push()
        until(lambda: len(heard) == 9)
        assert heard == [*told, box.last_payload()]
    readable = 0
    for payload, values in zip(told, shown, strict=True):
        if payload.startswith(b"{") and payload.endswith(b"}"):
            reading = adapter_json.decode(payload, received_ms=box.clock.now_ms)
            assert {field: float(value) for field, value in values.items()} == {
                field: reading[field] for field in values
            }
            readable += 1
    assert 0 < readable < 8


def test_what_a_broker_was_not_there_for_is_forgotten_after_a_minute(own_settings: Settings) -> None:
    with running_box(own_settings.home, mqtt=own_settings, interval_s=10) as box:
        for pushes in range(2, 32):
            box.push()
            until(lambda: box.progress.open + box.progress.forgotten == pushes)  # noqa: B023 - asked at once
        kept = 7  # of ten seconds each, with the first and the last of the minute
        until(lambda: box.progress.forgotten == 31 - kept)
        with Stack(own_settings, ["mqtt"]), heard_at(own_settings, "sma") as heard:
            until(lambda: box.progress.published == kept)
            box.push()
            until(lambda: box.last_payload() in heard)
    assert (box.progress.open, box.progress.forgotten) == (0, 31 - kept)


class Run:
    """`strom adapter` as a process of its own."""

    def __init__(self, settings: Settings, *flags: str) -> None:
        host, port = settings.mqtt_address
        self.settings = settings
        self.process = subprocess.Popen(
            (
                *(sys.executable, "-m", "strom", "adapter"),
                *("--home", str(settings.home), "--mqtt", f"{host}:{port}", *flags),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_ready(self) -> None:
        until(lambda: announced_pid(self.settings.home, "adapter") == self.process.pid)

    def end(self, number: signal.Signals) -> tuple[str, str]:
        os.kill(self.process.pid, number)
        return self.process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_tells_where_its_boxes_are_and_ends_cleanly(
    stack: Settings, number: signal.Signals
) -> None:
    first = free_ports(1)[0]
    with heard_at(stack, stack.mqtt.topic) as heard:
        run = Run(stack, "--rest-port", str(first), "--no-modbus", "--interval", "1", "--name", f"b{first}")
        run.await_ready()
        until(lambda: any(json.loads(each)["name"] == f"b{first}" for each in heard if each[:1] == b"{"))
        output, errors = run.end(number)
    assert run.process.returncode == 0, errors
    for words in (f"https://127.0.0.1:{first}/api/v1/measurement", f"[adapters.b{first}]", 'by = "rest"'):
        assert words in output
    assert re.search(r"^token = \"[0-9a-f]{32}\"$", output, re.MULTILINE)
    assert re.search(r"^fingerprint = \"[0-9a-f]{64}\"$", output, re.MULTILINE)
    assert re.search(r"^[1-9]\d* published, asked 0× by REST\.$", output, re.MULTILINE)


def test_what_the_command_prints_is_enough_to_ask_it(own_settings: Settings) -> None:
    rest_port, modbus_port = free_ports(2)
    flags = ("--no-mqtt", "--interval", "1", "--rest-port", str(rest_port), "--modbus-port", str(modbus_port))
    run = Run(own_settings, *flags, "--token", "t0ken")
    run.await_ready()
    url = f"https://127.0.0.1:{rest_port}/api/data/measurement.json"
    [folder] = (own_settings.home / "adapters").iterdir()
    context = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    def answer() -> bool:
        headers = {"Authorization": "TOKEN t0ken"}
        told = httpx.get(url, headers=headers, verify=context, trust_env=False, timeout=SECONDS)
        return told.status_code == 200 and told.json()["name"] == "box"

    until(answer)
    output, _ = run.end(signal.SIGTERM)
    assert f"127.0.0.1:{modbus_port}" in output
    assert re.search(r"^asked [1-9]\d*× by REST, asked 0× by Modbus\.$", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--dialect", "klingon"), "'klingon' is no dialect"),
        (("--kind", "castle"), "'castle' is no kind of premises"),
        (("--kind", "solar", "--dialect", "single"), "Only households speak the dialect single"),
        (("--trouble", "smoke"), "'smoke' is no trouble"),
        (("--interval", "0.1"), "An interval of 0.1 s"),
        (("--no-mqtt", "--no-rest", "--no-modbus"), "Nothing is left to offer"),
        (("--token", "two words"), "A token has 1 to 128"),
        (("--host", "192.0.2.7"), "cannot listen on 192.0.2.7:8443"),
    ],
)
def test_what_cannot_be_is_told_in_one_sentence(
    tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    run = Run(Settings(home=tmp_path), *flags)
    _, errors = run.process.communicate(timeout=SECONDS)
    assert run.process.returncode == 2
    assert sentence in errors
    assert len(errors.strip().splitlines()) == 1
