"""Who carries MQTT to Kafka in a benchmark, each as a process of its own with a session of its own."""

import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strom.bench.bridge.arrivals import raw_counter
from strom.bench.bridge.flood import PROCESSES, shared_count
from strom.bench.bridge.subscriber import count_messages
from strom.errors import StromError
from strom.mqtt.transport import Endpoint
from strom.settings import Settings
from strom.stack.ready import announced_pid

READY_SECONDS = 60.0
STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Running:
    """`total` is how many messages have come out at its other end."""

    pid: int
    total: Callable[[], int]


class Carrier(ABC):
    name: str

    @abstractmethod
    @contextmanager
    def running(self, settings: Settings, topic: str, qos: int) -> Iterator[Running]:
        """While the block lasts it carries what is published on the topic, with a client id of the same name."""


class Strom(Carrier):
    name = "bridge"

    @contextmanager
    def running(self, settings: Settings, topic: str, qos: int) -> Iterator[Running]:
        own = settings.model_copy(
            update={
                "mqtt": settings.mqtt.model_copy(update={"topic": topic}),
                "bridge": settings.bridge.model_copy(update={"client_id": topic}),
            }
        )
        command = [sys.executable, "-m", "strom", "bridge"]
        log = settings.home / f"{topic}.log"
        with child(command, log, own.child_environment()) as pid:
            self._await_ready(settings, pid, log)
            yield Running(pid, raw_counter(settings))

    def _await_ready(self, settings: Settings, pid: int, log: Path) -> None:
        """Until it has subscribed: what is published before has nobody who would miss it."""
        deadline = time.monotonic() + READY_SECONDS
        while announced_pid(settings.home, "bridge") != pid:
            if time.monotonic() > deadline:
                raise StromError(f"the bridge did not start: {log.read_text(encoding='utf-8')}", exit_code=1)
            time.sleep(_LOOK_SECONDS)


class Subscriber(Carrier):
    name = "bare subscriber"

    @contextmanager
    def running(self, settings: Settings, topic: str, qos: int) -> Iterator[Running]:
        counted = shared_count()
        inflight = settings.bridge.inflight
        process = PROCESSES.Process(
            target=count_messages,
            args=(Endpoint.of(settings), topic, topic, inflight, counted),
            daemon=True,
        )
        process.start()
        try:
            yield Running(process.pid or 0, lambda: counted.value)
        finally:
            process.terminate()
            process.join()


@contextmanager
def child(command: list[str], log: Path, environment: dict[str, str] | None = None) -> Iterator[int]:
    """A process that is asked to end with the block, and made to where it does not."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
