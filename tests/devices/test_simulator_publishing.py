"""Simulated adapters against a real Mosquitto: own connections, all confirmed, none lost on the way."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import mqtt5
import pytest

from strom.devices.adapter import Progress, Publisher
from strom.devices.simulator import FaultKind, Fleet
from strom.devices.simulator.timeline import Timeline
from strom.errors import StromError
from strom.mqtt.connection import Connection
from strom.mqtt.packets import Session
from strom.mqtt.transport import Endpoint
from strom.settings import MqttSettings, Settings
from strom.stack.programs import find_mosquitto
from strom.stack.supervisor import Stack

pytestmark = pytest.mark.stack

NOW_MS = 1_736_956_800_000  # some moment in the past
SECONDS = 60.0  # after which a wait has failed


def past(seconds: int, interval: float = 5) -> Timeline:
    """A stretch of the past, sent at once, and nothing after it."""
    return Timeline(
        start_ms=NOW_MS - seconds * 1000, until_ms=NOW_MS, history_interval_s=interval, interval_s=interval
    )


class Listener:
    """A subscriber that keeps everything it hears."""

    def __init__(self, settings: Settings, client_id: str, topic: str) -> None:
        self.heard: list[mqtt5.PublishPacket] = []
        self._stop = Event()
        self._subscribed = Event()
        session = Session(client_id)
        self._connection = Connection(Endpoint.of(settings), session, now=time.monotonic())
        self._filters = [topic, f"{topic}/+"]
        self._thread = Thread(target=self._listen, daemon=True)

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + SECONDS
        while len(self.heard) < count and time.monotonic() < deadline:
            self._stop.wait(0.02)
        assert len(self.heard) >= count

    def __enter__(self) -> "Listener":
        self._thread.start()
        assert self._subscribed.wait(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _listen(self) -> None:
        connection = self._connection
        with selectors.DefaultSelector() as selector:
            selector.register(connection, connection.events)
            while not self._stop.is_set():
                selector.modify(connection, connection.events)
                for _ in selector.select(0.05):
                    for packet in connection.handle(time.monotonic()):
                        self._take(packet)
        connection.disconnect(time.monotonic())

    def _take(self, packet: mqtt5.Packet) -> None:
        if isinstance(packet, mqtt5.ConnAckPacket):
            self._connection.subscribe(self._filters)
        elif isinstance(packet, mqtt5.SubAckPacket):
            self._subscribed.set()
        elif isinstance(packet, mqtt5.PublishPacket):
            self.heard.append(packet)
            if packet.packet_id is not None:
                self._connection.acknowledge([packet.packet_id])
        self._connection.flush(time.monotonic())


@contextmanager
def running(publisher: Publisher) -> Iterator[Event]:
    """The publisher in a thread of its own; stopped and ended after the block."""
    stop = Event()
    thread = Thread(target=publisher.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(SECONDS)
        assert not thread.is_alive()


def await_that(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    pause = Event()
    while not condition() and time.monotonic() < deadline:
        pause.wait(0.02)
    assert condition()


def test_what_the_fleet_says_arrives_complete_and_in_order(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    topic = unique("sma")
    fleet = Fleet(60, seed=1, topic=topic)
    expected = [
        (p.topic, p.payload)
        for p in Fleet(60, topic=topic).readings(NOW_MS - 60_000, NOW_MS, 5, history=True)
    ]
    with Listener(stack, unique("listener"), topic) as listener:
        progress = Publisher(fleet, stack, past(60)).run(Event())
        listener.wait_for(len(expected))
    assert progress.finished
    assert progress.published == progress.history == len(expected)
    assert progress.unheard == 0
    heard = [(packet.topic, bytes(packet.payload)) for packet in listener.heard]
    assert sorted(heard) == sorted(expected)
    for name in {json.loads(payload)["name"] for _, payload in expected}:
        mine = [payload for _, payload in expected if json.loads(payload)["name"] == name]
        if name:
            assert [payload for _, payload in heard if json.loads(payload)["name"] == name] == mine


def test_every_message_tells_when_it_was_published(stack: Settings, unique: Callable[[str], str]) -> None:
    topic = unique("sma")
    before = time.time_ns() // 1_000_000
    with Listener(stack, unique("listener"), topic) as listener:
        Publisher(Fleet(5, topic=topic), stack, past(5)).run(Event())
        listener.wait_for(4)
    for packet in listener.heard:
        [(name, value)] = packet.user_properties
        assert name == "strom-published"
        assert before <= int(value) <= time.time_ns() // 1_000_000


def test_a_thousand_meters_have_a_thousand_connections_at_once(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    publisher = Publisher(Fleet(1000, seed=11, topic=unique("sma")), stack, Timeline(interval_s=60))
    with running(publisher):
        await_that(lambda: publisher.progress.connected == 1000)
        await_that(lambda: publisher.progress.published > 0)
    assert publisher.progress.open == 0
    assert publisher.progress.reconnects == 0


def test_beyond_the_limit_connections_are_shared(stack: Settings, unique: Callable[[str], str]) -> None:
    fleet = Fleet(500, seed=12, topic=unique("sma"))
    publisher = Publisher(fleet, stack, past(10), connections=20)
    peak = 0

    def watch(progress: Progress) -> None:
        nonlocal peak
        peak = max(peak, progress.connected)

    progress = publisher.run(Event(), watch)
    assert peak == 20
    assert progress.finished
    assert progress.published == sum(1 for _ in fleet.readings(NOW_MS - 10_000, NOW_MS, 5, history=True))


def test_a_broker_restarted_in_the_middle_loses_nothing(own_settings: Settings) -> None:
    fleet = Fleet(100, seed=13)
    total = sum(1 for _ in fleet.readings(NOW_MS - 1_800_000, NOW_MS, 5, history=True))
    publisher = Publisher(fleet, own_settings, past(1_800), rate=10_000)
    result: list[Progress] = []
    thread = Thread(target=lambda: result.append(publisher.run(Event())), daemon=True)
    with Stack(own_settings, ["mqtt"]):
        thread.start()
        await_that(lambda: publisher.progress.published > 2_000)
    assert publisher.progress.published < total
    with Stack(own_settings, ["mqtt"]):
        thread.join(SECONDS)
    assert result
    assert result[0].finished
    assert result[0].published == total
    assert result[0].reconnects >= 100


def test_a_broker_that_comes_later_is_waited_for(own_settings: Settings) -> None:
    troubles: list[str] = []
    publisher = Publisher(Fleet(10), own_settings, past(30), on_trouble=troubles.append)
    result: list[Progress] = []
    thread = Thread(target=lambda: result.append(publisher.run(Event())), daemon=True)
    thread.start()
    await_that(lambda: bool(troubles))
    assert "Connection refused" in troubles[0]
    with Stack(own_settings, ["mqtt"]):
        thread.join(SECONDS)
    assert result[0].finished
    assert result[0].published > 0


def test_a_wrong_password_is_one_sentence(own_settings: Settings) -> None:
    guarded = own_settings.mqtt.model_copy(update={"username": "adapter", "password": "right"})
    with Stack(own_settings.model_copy(update={"mqtt": guarded}), ["mqtt"]):
        wrong = guarded.model_copy(update={"password": "wrong"})
        settings = own_settings.model_copy(update={"mqtt": wrong})
        with pytest.raises(StromError, match=r"refused the connection.*mqtt\.password"):
            Publisher(Fleet(3), settings, past(30)).run(Event())


def test_two_simulations_with_the_same_seed_are_told_so(stack: Settings) -> None:
    troubles: list[str] = []
    first = Publisher(Fleet(3, seed=16), stack, Timeline(), on_trouble=troubles.append)
    second = Publisher(Fleet(3, seed=16), stack, Timeline(), on_trouble=troubles.append)
    with running(first), running(second):
        await_that(lambda: any("another --seed" in trouble for trouble in troubles))
    assert [trouble for trouble in troubles if "another --seed" in trouble]


def test_a_topic_that_is_not_allowed_is_one_sentence(own_settings: Settings, tmp_path: Path) -> None:
    access = tmp_path / "access"
    access.write_text("topic read sma\n", encoding="utf-8")
    access.chmod(0o644)
    port = own_settings.mqtt.port
    config = tmp_path / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nacl_file {access}\nuser root\n", "utf-8"
    )
    with subprocess.Popen([find_mosquitto(), "-c", str(config)], stderr=subprocess.DEVNULL) as broker:
        try:
            with pytest.raises(StromError, match="allow the adapters to publish"):
                Publisher(Fleet(3), own_settings, past(30)).run(Event())
        finally:
            broker.terminate()


def test_faults_are_counted_by_kind(stack: Settings, unique: Callable[[str], str]) -> None:
    fleet = Fleet(60, seed=2, topic=unique("sma"), faults=FaultKind, faults_from_ms=NOW_MS - 120_000)
    progress = Publisher(fleet, stack, past(120)).run(Event())
    assert progress.finished
    assert progress.malformed == progress.faults[FaultKind.MALFORMED] > 0
    assert progress.faults[FaultKind.VOLTAGE] > 0
    assert progress.faults[FaultKind.SILENT] == 0


def test_messages_at_qos_0_count_when_they_are_sent(stack: Settings, unique: Callable[[str], str]) -> None:
    topic = unique("sma")
    with Listener(stack, unique("listener"), topic) as listener:
        progress = Publisher(Fleet(20, topic=topic), stack, past(60), qos=0).run(Event())
        listener.wait_for(progress.published)
    assert progress.finished


def test_history_goes_on_live_until_stopped(stack: Settings, unique: Callable[[str], str]) -> None:
    start = time.time_ns() // 1_000_000 - 3_600_000
    timeline = Timeline(start_ms=start, interval_s=1, history_interval_s=60)
    publisher = Publisher(Fleet(20, seed=14, topic=unique("sma")), stack, timeline)
    with running(publisher):
        await_that(lambda: publisher.progress.published > publisher.progress.history >= 19 * 59)
        assert publisher.progress.live
    assert publisher.progress.open == 0


def command(settings: Settings, *flags: str) -> list[str]:
    host, port = settings.mqtt_address
    return [
        sys.executable,
        "-m",
        "strom",
        "simulate",
        "--mqtt",
        f"{host}:{port}",
        "--home",
        str(settings.home),
        *flags,
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_cleanly_on_a_signal(stack: Settings, number: signal.Signals) -> None:
    with subprocess.Popen(
        command(stack, "--meters", "20", "--interval", "1", "--json"), stdout=subprocess.PIPE, text=True
    ) as process:
        ready = stack.home / "run" / "simulate.ready"
        await_that(lambda: ready.exists() and ready.read_text().strip() == str(process.pid))
        os.kill(process.pid, number)
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert json.loads(output)["open"] == 0


def test_the_command_fills_the_past_and_ends(stack: Settings) -> None:
    flags = ("--meters", "10", "--history", "1h", "--for", "0", "--json", "--seed", "15")
    done = subprocess.run(command(stack, *flags), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["finished"]
    assert summary["published"] == summary["history"] > 500


def test_what_nobody_confirms_is_given_up_and_told(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strom.devices.adapter.STUCK_SECONDS", 0.5)
    progress = Publisher(Fleet(2), own_settings, past(30)).run(Event())
    assert not progress.finished
    assert progress.open > 0


def test_qos_2_is_refused() -> None:
    with pytest.raises(StromError, match="QoS 2"):
        Publisher(Fleet(1), Settings(mqtt=MqttSettings(port=1)), past(30), qos=2)
