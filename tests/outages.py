"""A Kafka that is away or has no room left, for servers that the test may spoil."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

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
