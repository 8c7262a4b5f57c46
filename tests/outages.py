"""A Kafka that is away or has no room left, a Postgres that hangs, for servers that the test may spoil."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from strom.stack.supervisor import Stack

MB = 1 << 20


@contextmanager
def full_disk(pid: int) -> Iterator[None]:
    """No file of the broker can grow over a megabyte, nor of those that are started in its place."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MB, hard))
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (MB, MB))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def halted(servers: Stack) -> Iterator[None]:
    """Kafka is away while the block lasts."""
    servers.halt("kafka")
    try:
        yield
    finally:
        servers.resume("kafka")
        servers.await_ready("kafka")


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """The process and its children hang while the block lasts: what connects is accepted by the system, and nobody answers."""
    os.kill(pid, signal.SIGSTOP)  # first, so that it has no new children
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    _signal(children, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal([*children, pid], signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
