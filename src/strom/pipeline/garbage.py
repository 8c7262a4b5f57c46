"""Keeps Python's garbage collector from a batch's objects while they are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Within the block garbage in cycles stays. The collector would walk hundreds of thousands of new objects again and again, and rows have no cycles."""
    was_at_work = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_at_work:
            gc.enable()
