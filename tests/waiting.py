"""Waits for what must become true; how long that takes says nothing, for machines are busy."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 60.0  # of a wait that nobody gives more
Result = TypeVar("Result")


def until(ask: Callable[[], Result | None], what: str = "the answer", seconds: float = PATIENCE) -> Result:
    """Ask again until the answer is true, and return it; one that never comes fails the test by its name."""
    deadline = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain: {what}"
        time.sleep(0.05)
    return found
