"""Closes clients of Kafka in daemon threads and within a bound.

The client library (librdkafka 2.16) sometimes never returns from closing a consumer: a fetch was still in flight, and its
answer is that the offset is out of range, which nobody is left to handle. Such a client is given up: it keeps its threads,
and whoever used it goes on and ends without it.
"""

import logging
import threading
from collections.abc import Callable
from concurrent import futures
from typing import TypeVar

CLOSE_SECONDS = 10.0  # to commit and to leave the group
Result = TypeVar("Result")


class Closing:
    """A client that is being closed; whoever waits for `done` asks for the outcome then."""

    def __init__(self, what: str, close: Callable[[], None], log: logging.Logger) -> None:
        self.done = in_daemon_thread(close, "close")
        self._what = what
        self._log = log

    def outcome(self, seconds: float) -> bool:
        """Whether it has closed within this time, which is over; if not it is given up."""
        if not self.done.done():
            self._log.error("%s has not closed within %.0f s and is given up", self._what, seconds)
            self.done.add_done_callback(self._closed_late)
            return False
        if error := self.done.exception():
            self._log.warning("%s has closed with an error: %s", self._what, error)
        return True

    def _closed_late(self, done: futures.Future[None]) -> None:
        told = done.exception() or "without an error"
        self._log.info("%s, given up before, has closed (%s)", self._what, told)


def close_within(
    what: str, close: Callable[[], None], log: logging.Logger, seconds: float | None = None
) -> bool:
    """Whether it has closed in time, usually CLOSE_SECONDS."""
    seconds = CLOSE_SECONDS if seconds is None else seconds
    closing = Closing(what, close, log)
    futures.wait([closing.done], seconds)
    return closing.outcome(seconds)


def close_later(what: str, close: Callable[[], None], log: logging.Logger) -> None:
    """The same without waiting for it: for whoever has an error to tell first."""
    in_daemon_thread(lambda: close_within(what, close, log), "close-later")


def in_daemon_thread(work: Callable[[], Result], name: str) -> futures.Future[Result]:
    """Start the work in a thread of its own, which does not keep the process from ending.

    `concurrent.futures` would join its threads when Python exits, however long they take.
    """
    outcome: futures.Future[Result] = futures.Future()
    outcome.set_running_or_notify_cancel()  # from now on it cannot be cancelled

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # told to whoever waits
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return outcome
