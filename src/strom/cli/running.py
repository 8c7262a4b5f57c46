"""How long-running verbs run: log lines on standard error, and a clean end on Ctrl-C and SIGTERM."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # the exit code of what was stopped before it was done


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within this block SIGINT and SIGTERM call `stop` instead of ending the process."""

    def handle(number: int, frame: FrameType | None) -> None:
        stop()

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def end_like_ctrl_c() -> None:
    """From now on SIGTERM is raised where the work is, as Ctrl-C is: what it started is ended and removed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
