"""What the stages have to say on Kafka: gathered while the tables are written, confirmed before they are committed.

A crash in between says it again with the same key and version; the other way round it would never be said.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.client import no_answer
from strom.streams.producer import open_producer

CONFIRM_SECONDS = 60.0
_JSON = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":")
)  # made once: `json.dumps` makes one each time


class Outbox:
    """Tells Kafka."""

    def __init__(self, settings: Settings, **producer: Any) -> None:
        self._settings = settings
        self._producer = open_producer(settings, "pipeline", **producer)
        self._refused: list[str] = []
        self.told: Counter[str] = Counter()

    def put(self, topic: str, key: str, value: Mapping[str, Any] | None) -> None:
        """None takes the key's value back."""
        self.send(topic, key.encode(), None if value is None else _JSON.encode(value).encode())

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, headers=list(headers), on_delivery=self._delivered)
                self.told[topic] += 1
                return
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                raise no_answer(self._settings, error.args[0]) from None

    def confirm(self) -> None:
        """Wait until Kafka has everything."""
        waiting = self._producer.flush(CONFIRM_SECONDS)
        refused, self._refused = self._refused, []
        if waiting:
            raise no_answer(self._settings, f"{waiting} records wait to be confirmed")
        if refused:
            raise StromError(f"Kafka refused {len(refused)} records ({refused[0]}).", exit_code=1)

    def purge(self) -> None:
        """Forget what Kafka does not have yet."""
        self._producer.purge()

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._refused.append(str(error))


class SilentOutbox(Outbox):
    """Tells nobody: what is built beside the live tables is nobody's news."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    def put(self, topic: str, key: str, value: Mapping[str, Any] | None) -> None:
        pass

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        pass

    def confirm(self) -> None:
        pass
