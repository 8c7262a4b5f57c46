"""Which key and which headers a message of `strom produce` gets: what people gave, and in the raw topic what every door sets.

Where they gave no key there, it is the meter's, as with the bridge: so a meter stays on one partition, in order.
"""

import time
from collections.abc import Callable

from strom.cli.message_source import Message
from strom.devices.registry import DIALECTS
from strom.domain.dialects import ADAPTER_JSON
from strom.ingest.meter_key import meter_key
from strom.settings import Settings
from strom.streams import topics
from strom.streams.outgoing import Header

SENDER = "strom-produce"  # the key where a message names no meter: together they stay in order

Heading = Callable[[Message], tuple[bytes | None, list[Header]]]


def heading(topic: str, given: list[Header], settings: Settings) -> Heading:
    return _Raw(given, settings) if topic == topics.RAW else lambda message: (message.key, given)


class _Raw:
    def __init__(self, given: list[Header], settings: Settings) -> None:
        told = {name: _text(value) for name, value in given}
        dialect = told.get(topics.HEADER_DIALECT, ADAPTER_JSON)
        usual = [(topics.HEADER_SOURCE, topics.SOURCE_KAFKA), (topics.HEADER_DIALECT, dialect)]
        self._headers = [*given, *(each for each in usual if each[0] not in told)]
        self._stamps = topics.HEADER_RECEIVED not in told
        self._topic = told.get(topics.HEADER_TOPIC, "")
        self._base = settings.mqtt.topic
        # As the bridge does: of other meters the topic tells who it is, and the payload is not looked at.
        other = DIALECTS.get(dialect) if dialect != ADAPTER_JSON else None
        self._fixed = (other.key_of(self._topic) or SENDER).encode() if other is not None else None

    def __call__(self, message: Message) -> tuple[bytes | None, list[Header]]:
        key = self._key(message.value) if message.key is None else message.key
        if not self._stamps:
            return key, self._headers
        now = str(time.time_ns() // 1_000_000)
        return key, [*self._headers, (topics.HEADER_RECEIVED, now)]

    def _key(self, value: bytes) -> bytes:
        return meter_key(value, self._topic or SENDER, self._base) if self._fixed is None else self._fixed


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
