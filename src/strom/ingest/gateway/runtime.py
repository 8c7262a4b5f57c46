"""How the gateway's processes run Python."""

import asyncio
import contextlib
import faulthandler
import gc
import logging
from collections.abc import Callable

LOG = logging.getLogger("strom.gateway")

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


def end_within(seconds: float) -> None:
    """If the process still runs then, write what its threads do to standard error and end it with exit code 1.

    The timer needs neither the event loop nor Python's lock, and holds also while Python itself exits.
    """
    LOG.info("stopping; what has not ended after %.0f s is ended by force", seconds)
    with contextlib.suppress(RuntimeError):  # there is no standard error
        faulthandler.dump_traceback_later(seconds, exit=True)
