"""A meter that stops is reported while all others go on sending, and nobody else is: live, after a kill, with a backlog."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from strom.settings import RuleSettings, Settings
from strom.stack.supervisor import Stack
from strom.store.schema import connect
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.running import running
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]
SILENT_SECONDS = 20
PATIENCE = 300.0  # not asserted: a busy machine may take its time


@dataclass
class Fleet:
    """Meters that send once a second, as the bridge writes it, until they are told to stop."""

    settings: Settings
    meters: int
    stopped: set[str] = field(default_factory=set)
    pushes: int = 0

    def run(self, enough: threading.Event) -> None:
        producer = open_producer(self.settings, "strom-test")
        while not enough.wait(max(0.0, 1.0 - time.time() % 1)):
            self._push(producer, time.time_ns() // 1_000_000)
            self.pushes += 1
        producer.flush(60)

    def _push(self, producer: object, now_ms: int) -> None:
        for number in range(self.meters):
            name = f"haus-{number}"
            if name in self.stopped:
                continue
            value = {"name": name, "1-0:1.8.0": {"value": self.pushes, "time": now_ms // 1000}}
            headers = [("strom-source", b"mqtt"), ("strom-received", str(now_ms).encode())]
            while True:
                try:
                    producer.produce(topics.RAW, json.dumps(value).encode(), name.encode(), headers=headers)  # type: ignore[attr-defined]
                    break
                except BufferError:
                    producer.poll(0.05)  # type: ignore[attr-defined]
        producer.poll(0)  # type: ignore[attr-defined]


@contextmanager
def sending(settings: Settings, meters: int) -> Iterator[Fleet]:
    fleet, enough = Fleet(settings, meters), threading.Event()
    thread = threading.Thread(target=fleet.run, args=(enough,), daemon=True)
    thread.start()
    try:
        yield fleet
    finally:
        enough.set()
        thread.join()


def silent(settings: Settings) -> set[str]:
    """Every meter that was ever reported."""
    with connect(settings.postgres_url) as connection:
        rows = connection.execute("SELECT DISTINCT meter FROM alerts WHERE kind = 'silent'").fetchall()
    return {meter for (meter,) in rows}


def await_pushes(fleet: Fleet, count: int) -> None:
    wanted = fleet.pushes + count
    until(lambda: fleet.pushes >= wanted, f"{count} pushes more", PATIENCE)


@pytest.mark.parametrize("meters", [150, pytest.param(5_000, marks=pytest.mark.far)])
def test_who_stops_is_reported_beside_those_who_go_on_and_nobody_else(
    own_settings: Settings, meters: int
) -> None:
    rules = RuleSettings(silent_seconds=SILENT_SECONDS)
    with Stack(own_settings.model_copy(update={"rules": rules}), ["kafka", "postgres"]) as stack:
        settings = stack.settings
        with sending(settings, meters) as fleet:
            with running(settings, "pipeline", "pipeline", "run") as pipeline:
                await_pushes(fleet, 30)
                fleet.stopped.add("haus-1")
                until(lambda: silent(settings) == {"haus-1"}, "the meter that stopped is reported", PATIENCE)
                pipeline.kill()
            await_pushes(fleet, 2 * SILENT_SECONDS)  # a backlog longer than a meter may be quiet
            fleet.stopped.add("haus-2")
            with running(settings, "pipeline", "pipeline", "run"):
                until(lambda: "haus-2" in silent(settings), "the second one is reported", PATIENCE)
            assert silent(settings) == {"haus-1", "haus-2"}
        # Now nobody sends any more: the topic is idle, and all are silent.
        with running(settings, "pipeline", "pipeline", "run"):
            until(
                lambda: len(silent(settings)) == meters, "all are reported where all have stopped", PATIENCE
            )
