"""The bridge's producers: one for nearly everything, one for records that must not share a batch with others.

It opens and ends them; what is sent by them, and sent again, is for its user to know.
"""

from confluent_kafka import Producer

from strom.settings import Settings
from strom.streams.producer import open_producer

_DISCARD_SECONDS = 1.0
_HURRY_SECONDS = 0.05  # the client's threads must wake to notice it


class Producers:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._common = self._open()
        self._single: Producer | None = None  # opened when first needed, which is hardly ever

    def one(self, *, alone: bool) -> Producer:
        """`alone`: each record in a batch of its own."""
        if not alone:
            return self._common
        if self._single is None:
            self._single = self._open(**{"batch.num.messages": 1})
        return self._single

    def poll(self, timeout: float, *, hurry: bool) -> None:
        """Take the answers that have come; callbacks run in here and nowhere else.

        In a hurry batches are sent as they are, however long they might have grown.
        """
        if hurry:
            self._common.flush(max(timeout, _HURRY_SECONDS))
        else:
            self._common.poll(timeout)
        if self._single is not None:
            self._single.poll(0)

    def replace(self) -> None:
        """One with a fatal error is of no more use; what it still has is answered with an error."""
        self.discard()
        self._common, self._single = self._open(), None

    def discard(self) -> None:
        for producer in filter(None, (self._common, self._single)):
            producer.purge(in_queue=True, in_flight=True, blocking=False)
            producer.flush(_DISCARD_SECONDS)

    def _open(self, **overrides: int) -> Producer:
        bridge = self._settings.bridge
        config = {"compression.type": bridge.compression, "linger.ms": bridge.linger_ms} | overrides
        return open_producer(self._settings, bridge.client_id, **config)
