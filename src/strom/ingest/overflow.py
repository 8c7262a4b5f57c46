"""Chooses the oldest messages to be dropped when the queue of the MQTT broker is nearly full, where the settings say so.

By itself the broker drops the newest. The oldest are those that the bridge holds: when they are let go and acknowledged,
those behind them take their place. How they are let go is not its concern.
"""

import logging

from strom.ingest.broker_watch import BrokerWatch
from strom.settings import Settings

LOG = logging.getLogger("strom.bridge")

# Of the limit. The broker tells its counts every few seconds only, so room is made before there is none.
_NEARLY_FULL = 0.9
_ENOUGH_ROOM = 0.8


class Overflow:
    """`debt` is how many messages are to be dropped."""

    def __init__(self, settings: Settings, watch: BrokerWatch) -> None:
        self.debt = 0
        self._drops = settings.mqtt.queue_drops == "oldest"
        # As Mosquitto reckons: on top of the limit it keeps as many messages as a client takes before it acknowledges,
        # but no more bytes.
        self._under_way = settings.bridge.inflight
        self._most = settings.mqtt.queue_messages
        self._most_bytes = settings.mqtt.queue_bytes
        self._watch = watch
        self._seen = 0  # tellings of the broker

    def look(self, queued: int) -> None:
        """Once for each time that the broker has told its counts; `queued` is the number of messages that it keeps."""
        if not self._drops or self._watch.tellings == self._seen:
            return
        self._seen = self._watch.tellings
        behind = max(0, queued - self._under_way)
        debt = max(
            _too_much(behind, self._most) * behind,
            _too_much(self._watch.queued_bytes, self._most_bytes) * queued,
        )
        if debt:
            self.debt = round(debt)
            LOG.warning(
                "the queue of the MQTT broker is nearly full (%d wait), and Kafka does not confirm: the oldest messages "
                "are dropped (mqtt.queue_drops)",
                queued,
            )

    def paid(self, dropped: int) -> None:
        self.debt = max(0, self.debt - dropped)


def _too_much(found: int, limit: int) -> float:
    """Which share of what is there; 0 while there is room."""
    return 1 - _ENOUGH_ROOM * limit / found if limit and found >= _NEARLY_FULL * limit else 0.0
