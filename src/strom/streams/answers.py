"""Takes Kafka's answers to what a producer has sent, on a thread of its own, so that every future is settled in the end.

Only this thread lets the client library call back. Where a client breaks for good, the library raises that in place of
calling back, and a flush would then lose answers.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.streams.delivery import DeliveryFuture

_POLL_SECONDS = 0.1
_PAUSE = 0.005
_FAILURES = 10_000  # remembered until they are told


class Answers:
    def __init__(self, client: Client, explain: Callable[[KafkaException], StromError]) -> None:
        self.broken: StromError | None = None  # why this client can write no more
        self.failures = 0  # messages that were not written, since it began
        self._client = client
        self._explain = explain
        self._under_way: set[DeliveryFuture] = set()
        self._failed: deque[DeliveryFuture] = deque(maxlen=_FAILURES)
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name="strom-answers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def expect(self, future: DeliveryFuture) -> None:
        """From now on this one is waited for."""
        self._under_way.add(future)
        future.add_done_callback(self._settled)

    def wait(self, seconds: float | None = None) -> None:
        """Until all is answered, or for so long; Ctrl-C ends it."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._under_way and (deadline is None or time.monotonic() < deadline):
            time.sleep(_PAUSE)

    def untold(self) -> list[StromError]:
        """Why messages were not written that nobody has asked about; each is told once."""
        found = [future.failure for future in self._failed if not future.asked]
        self._failed.clear()
        return [failure for failure in found if isinstance(failure, StromError)]

    def close(self, seconds: float) -> None:
        """Let go of what is still under way."""
        self._client.purge(in_queue=True, in_flight=True, blocking=False)
        self.wait(seconds)
        self._ending = True
        self._thread.join()
        self._fail_all(StromError("Its producer was closed before Kafka had confirmed it."))

    def _serve(self) -> None:
        while not self._ending:
            try:
                self._client.poll(_POLL_SECONDS)
            except KafkaException as error:
                self.broken = self._explain(error)
                self._fail_all(self.broken)

    def _fail_all(self, why: StromError) -> None:
        for future in self._under_way.copy():
            future.fail(why)

    def _settled(self, future: Any) -> None:
        self._under_way.discard(future)
        if future.failure is not None:
            self.failures += 1
            self._failed.append(future)
