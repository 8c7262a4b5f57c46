"""The stack that tests share: one real Kafka, Mosquitto and Postgres for the whole run, on free ports.

Tests must not rely on the servers being empty: take a `unique` name for topics, meters and client ids.
"""

import contextlib
import random
import signal
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from pyspark.sql import SparkSession

from strom.pipeline.session import build_session
from strom.settings import (
    GatewaySettings,
    KafkaSettings,
    MqttSettings,
    PageSettings,
    PipelineSettings,
    PostgresSettings,
    Settings,
    SparkSettings,
    SqlSettings,
)
from strom.stack.catalogue import SERVERS
from strom.stack.supervisor import Stack

# The tests of a commit pass or fail alike wherever they run; `make fuzz` looks for what they do not know yet.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile("same")

# Some tests press Ctrl-C. What runs in the background is often told to ignore that, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kill-seeds",
        default="1",
        metavar="1,2,…",
        help="Seeds of the random kills, or `random:N` for N new ones.",
    )
    parser.addoption("--kill-rounds", type=int, default=1, help="How often each kind of process is killed.")
    parser.addoption(
        "--history-seeds",
        default="1,2",
        metavar="1,2,…",
        help="Seeds of the random histories, or `random:N` for N new ones.",
    )
    parser.addoption("--histories", type=int, default=150, help="How many meters each seed has.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `kills` or `random_histories` runs once for each seed, with the seed in its name."""
    for fixture, seeds, size in (
        ("kills", "kill_seeds", "kill_rounds"),
        ("random_histories", "history_seeds", "histories"),
    ):
        if fixture in metafunc.fixturenames:
            number = metafunc.config.getoption(size)
            chosen = [(seed, number) for seed in _seeds(metafunc.config.getoption(seeds))]
            metafunc.parametrize(fixture, chosen, ids=lambda each: f"seed-{each[0]}")


def _seeds(text: str) -> list[int]:
    if text.startswith("random:"):
        return random.SystemRandom().sample(range(10**6), int(text.removeprefix("random:")))
    return [int(seed) for seed in text.split(",")]


# A test is over before Java's second compiler has earned what it costs.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

# Below the ports that the system gives to outgoing connections, which may come between the search and the start.
PORTS = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on; drawn at random, so that test runs side by side do not meet."""
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError("no free ports")


def free_block(size: int) -> int:
    """The first of so many neighbouring ports that nothing listens on."""
    for first in random.SystemRandom().sample(PORTS[:-size], len(PORTS) - size):
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in range(first, first + size):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise RuntimeError("no free ports")


def settings_in(home: Path) -> Settings:
    """Settings of a stack of its own in this folder, on free ports."""
    kafka, controller, mqtt, postgres, page, gateway = free_ports(6)
    return Settings(
        home=home,
        kafka=KafkaSettings(port=kafka, controller_port=controller, heap="256m", java_options=QUICK_JAVA),
        spark=SparkSettings(java_options=QUICK_JAVA),
        mqtt=MqttSettings(port=mqtt),
        postgres=PostgresSettings(port=postgres),
        page=PageSettings(port=page),
        gateway=GatewaySettings(port=gateway),
        sql=SqlSettings(connect=False),  # it is started by the tests that ask
        pipeline=PipelineSettings(
            late_days=3650, warm_up=False
        ),  # histories in the tests begin when they begin
    )


@pytest.fixture(scope="session")
def make_settings() -> Callable[[Path], Settings]:
    """For fixtures that run a stack of their own over many tests."""
    return settings_in


@pytest.fixture
def own_settings(tmp_path: Path) -> Settings:
    """For tests that start, break or restart a stack of their own."""
    return settings_in(tmp_path / "home")


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The shared servers with their supervisor; do not kill these."""
    with Stack(settings_in(tmp_path_factory.mktemp("shared") / "home"), SERVERS) as stack:
        yield stack


@pytest.fixture(scope="session")
def stack(running_stack: Stack) -> Settings:
    """Settings that point at the shared servers; contract topics and tables exist."""
    return running_stack.settings


@pytest.fixture
def unique() -> Callable[[str], str]:
    """`unique("raw")` is a name that no other test uses."""
    return lambda name: f"{name}-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for the whole run."""
    spark = SparkSettings(master="local[4]", driver_memory="1500m", java_options=QUICK_JAVA)
    session = build_session(Settings(home=tmp_path_factory.mktemp("spark"), spark=spark))
    yield session
    session.stop()
