"""Takes Kafka's answers to what a producer has sent, so that every future is settled in the end.

Whoever sends takes the answers that are there by the way; while nobody sends, a thread of its own takes them. Two threads
at it all the time would hand Python's lock to and fro for every message.

The client is never flushed: where it breaks for good, the library raises that in place of calling back, and in a flush
answers would be lost by it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.streams.delivery import DeliveryFuture

_IDLE_SECONDS = 0.02  # so long after a message was sent nobody seems to send
_POLL_SECONDS = 0.1
_FAILURES = 10_000  # remembered until they are told


class Answers:
    def __init__(self, client: Client, explain: Callable[[KafkaException], StromError]) -> None:
        self.broken: StromError | None = None  # why this client can write no more
        self.failures = 0  # messages that were not written, since it began
        self.last_failure: StromError | None = None
        self._client = client
        self._explain = explain
        self._under_way: set[DeliveryFuture] = set()
        self._failed: deque[tuple[DeliveryFuture, StromError]] = deque(maxlen=_FAILURES)
        self._busy_at = 0.0  # when somebody last took answers by the way
        self._asked = threading.Event()  # somebody waits for a future
        self._here = threading.local()
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name="strom-answers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def expect(self, parts: int, explain: Callable[[KafkaError, str], StromError]) -> DeliveryFuture:
        """For a message of so many parts; from now on its answers are waited for."""
        self._busy_at = time.monotonic()
        future = DeliveryFuture(parts, explain, on_settled=self._settled, on_asked=self._asked.set)
        self._under_way.add(future)
        return future

    @property
    def is_calling_back(self) -> bool:
        """Whether this thread is within what a delivery calls back."""
        return getattr(self._here, "taking", False)

    def take(self, seconds: float = 0.0) -> None:
        """Take the answers that are there, or the first that come within this time."""
        if self.is_calling_back:  # the client cannot be asked within that
            if seconds:
                raise StromError("Nothing can be waited for in what a delivery calls back; wait elsewhere.")
            return
        self._here.taking = True
        try:
            self._client.poll(seconds)
        except KafkaException as error:
            self.broken = self._explain(error)
            self._fail_all(self.broken)
        finally:
            self._here.taking = False

    def wait(self, seconds: float | None = None) -> None:
        """Until all is answered, or for so long; Ctrl-C ends it."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._under_way and (deadline is None or time.monotonic() < deadline):
            self._busy_at = time.monotonic()
            self.take(_IDLE_SECONDS)

    def wait_for(self, future: DeliveryFuture) -> None:
        while not future.done():
            self._busy_at = time.monotonic()
            self.take(_IDLE_SECONDS)

    def untold(self) -> list[StromError]:
        """Why messages were not written that nobody has asked about; each is told once."""
        found = [why for future, why in self._failed if not future.asked]
        self._failed.clear()
        return found

    def close(self, seconds: float) -> None:
        """Let go of what is still under way."""
        self._client.purge(in_queue=True, in_flight=True, blocking=False)
        self.wait(seconds)
        self._ending = True
        self._asked.set()
        self._thread.join()
        self._fail_all(StromError("Its producer was closed before Kafka had confirmed it."))

    def _serve(self) -> None:
        while not self._ending:
            if time.monotonic() - self._busy_at < _IDLE_SECONDS and not self._asked.wait(_IDLE_SECONDS):
                continue
            self._asked.clear()
            self.take(_POLL_SECONDS)

    def _fail_all(self, why: StromError) -> None:
        for future in self._under_way.copy():
            future.fail(why)

    def _settled(self, future: DeliveryFuture, failure: StromError | None) -> None:
        if failure is not None:
            self.failures += 1
            self.last_failure = failure
            self._failed.append((future, failure))
        self._under_way.discard(future)  # last: whoever waits for it goes on to ask what failed
