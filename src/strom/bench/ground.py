"""Servers of its own for a benchmark: in a folder below the home, on free ports, gone afterwards."""

import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from strom.settings import Settings
from strom.stack.supervisor import Stack

PARTS = ("kafka", "postgres")


@contextmanager
def own_servers(
    settings: Settings, report: Callable[[str], None], parts: Sequence[str] = PARTS
) -> Iterator[Settings]:
    """Settings that point at empty servers; whatever runs here already is not touched."""
    home = settings.home.absolute() / "bench"
    shutil.rmtree(home, ignore_errors=True)
    kafka, controller, mqtt, postgres, page = free_ports(5)
    own = settings.model_copy(
        update={
            "home": home,
            "kafka": settings.kafka.model_copy(
                update={"bootstrap": None, "port": kafka, "controller_port": controller}
            ),
            "mqtt": settings.mqtt.model_copy(update={"address": None, "port": mqtt}),
            "postgres": settings.postgres.model_copy(update={"url": None, "port": postgres}),
            "page": settings.page.model_copy(update={"port": page}),
            "pipeline": settings.pipeline.model_copy(update={"lake": None, "checkpoints": None}),
        }
    )
    try:
        with Stack(own, parts, report=report):
            yield own
    finally:
        shutil.rmtree(home, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def free_block(size: int) -> int:
    """The first of so many neighbouring ports that nothing listens on."""
    while True:
        (first,) = free_ports(1)
        with ExitStack() as probes, suppress(OSError, OverflowError):
            for port in range(first, first + size):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
