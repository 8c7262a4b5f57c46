"""The Kafka producers of one process of the gateway; they differ in how long a batch may grow, or how large.

It opens and ends them; what is sent by them is for its user to know.
"""

from typing import Any

from confluent_kafka import Producer

from strom.settings import Settings
from strom.streams.choices import LINGER_MS
from strom.streams.producer import open_producer

NAME = "strom-gateway"
# Many small batches are more work for Kafka than the messages in them; but who waits alone waits for nothing. So with
# this many other arrays under way a batch may grow for so long:
_ARRAYS_LINGER_MS = ((6, 15), (2, LINGER_MS), (0, 1))
# Those that share a batch are answered together, so that for a moment there is none.
_OF_LATE_SECONDS = 0.5


class Producers:
    """The usual one is open from the beginning, each other when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # For messages that come one by one or in small arrays, and share batches.
        self.usual = self._opened(LINGER_MS)
        self._open = {LINGER_MS: self.usual}  # by how long a batch may grow
        self._alone: Producer | None = None
        self._most_others, self._most_until = 0, 0.0  # of late

    def for_arrays(self, others: int, now: float) -> Producer:
        """For a large one, with so many others under way now."""
        if others >= self._most_others or now >= self._most_until:
            self._most_others, self._most_until = others, now + _OF_LATE_SECONDS
        return self._with(next(linger for least, linger in _ARRAYS_LINGER_MS if self._most_others >= least))

    def alone(self) -> Producer:
        """Sends each message in a batch of its own, and asks for a topic's partitions when it gets one for it."""
        if self._alone is None:
            self._alone = self._opened(LINGER_MS, **{"batch.num.messages": 1})
        return self._alone

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        """As each of them finds it: all of them know a new partition before anything goes there.

        Not the one for messages alone: it gets those that went to a partition which is no longer there, and must not
        remember what was.
        """
        return [each.list_topics(topic, timeout) for each in [*self._open.values()]][-1]

    def poll(self) -> int:
        """Take what they have to tell; how much it was."""
        return sum([each.poll(0) for each in self._all()])

    def flush(self, seconds: float) -> None:
        for each in self._all():
            each.flush(seconds)

    def begin_anew(self) -> None:
        """One with a fatal error is of no more use; what they still have is answered with an error."""
        former = self._all()
        self.usual = self._opened(LINGER_MS)
        self._open, self._alone = {LINGER_MS: self.usual}, None
        for each in former:
            each.purge(in_queue=True, in_flight=True, blocking=False)
            each.poll(0)

    def _all(self) -> list[Producer]:
        """Those that are open now; whoever is told of a failure may open a further one."""
        return [*self._open.values(), *filter(None, [self._alone])]

    def _with(self, linger_ms: int) -> Producer:
        found = self._open.get(linger_ms)
        if found is None:
            found = self._open[linger_ms] = self._opened(linger_ms)
        return found

    def _opened(self, linger_ms: int, **more: int) -> Producer:
        gateway = self._settings.gateway
        # A message that is given up is told to its caller, who knows whether to send it again.
        limits = {
            "message.timeout.ms": round(gateway.send_seconds * 1000),
            "queue.buffering.max.messages": 2 * gateway.inflight,
        }
        return open_producer(self._settings, NAME, **limits, **{"linger.ms": linger_ms}, **more)
