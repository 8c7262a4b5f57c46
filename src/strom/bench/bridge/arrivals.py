"""Counts what has arrived while it arrives, and knows when no more will come."""

import threading
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from types import TracebackType
from typing import Self

from strom.bench.bridge.flood import shared_count
from strom.errors import StromError
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import end_offsets, find_topics, partitions_of

_LOOK_SECONDS = 0.02
QUIET_SECONDS = 5.0  # without an arrival: what is missing is lost


def raw_counter(settings: Settings) -> Callable[[], int]:
    """How many records the raw topic has; cheap enough to be asked fifty times a second."""
    client = admin_client(settings)
    places = partitions_of(find_topics(settings, client, [topics.RAW]))
    return lambda: sum(end_offsets(settings, client, places).values())


class Arrivals:
    """`count` is what has come since it was opened; a publisher in another process may look at it."""

    def __init__(self, total: Callable[[], int]) -> None:
        self.count: Synchronized[int] = shared_count()
        self._total = total
        self._first = total()
        self.last_at = 0.0  # when the last one was seen
        self._failure: StromError | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._look, name="arrivals", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()

    def await_count(self, wanted: int, quiet: float = QUIET_SECONDS) -> bool:
        """Until so many have come; False when for so long none comes."""
        since = time.monotonic()
        while self.count.value < wanted:
            if self._failure is not None:
                raise self._failure
            if time.monotonic() - max(since, self.last_at) > quiet:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def _look(self) -> None:
        try:
            while not self._closing.wait(_LOOK_SECONDS):
                count = self._total() - self._first
                if count != self.count.value:
                    self.count.value, self.last_at = count, time.monotonic()
        except StromError as error:  # raised where somebody waits for the count
            self._failure = error
