"""How the gateway's processes run Python."""

import asyncio
import gc
from collections.abc import Callable

_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def collect_garbage_rarely() -> None:
    """What a request makes is gone by itself; looking for circles after every 700 objects is a tenth of the work."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 50)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one; Windows has none."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
