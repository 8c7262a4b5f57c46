"""Whether Kafka confirms what a forwarder has handed over: one rule for bridge and poller, who tell it in their own words."""

from strom.ingest.forward import Forwarder
from strom.settings import Settings

AWAY_SECONDS = 2.0  # without a confirmation, beyond the time that a batch may grow: Kafka is taken to be away


class Confirming:
    """`away` is how it was when `changed` was last asked."""

    def __init__(self, forwarder: Forwarder, settings: Settings) -> None:
        self.away = False
        self._forwarder = forwarder
        self._patience = AWAY_SECONDS + settings.bridge.linger_ms / 1000

    def changed(self, now: float) -> bool:
        """Whether Kafka has gone away or come back since."""
        forwarder, before = self._forwarder, self.away
        waits = forwarder.in_flight > 0 or forwarder.has_let_go
        self.away = waits and now - forwarder.last_progress > self._patience
        return self.away != before
