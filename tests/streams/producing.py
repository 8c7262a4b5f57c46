"""Runs `strom produce` as users do in a pipe."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from strom.settings import Settings


@contextmanager
def producing(settings: Settings, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`strom produce …` as one end of a pipe; what it says is kept."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    with subprocess.Popen(
        [sys.executable, "-m", "strom", "produce", *arguments],
        env=environment | settings.as_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
