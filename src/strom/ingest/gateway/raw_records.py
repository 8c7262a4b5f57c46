"""What a message gets on its way into the raw topic: the headers that every door sets, and the key of its meter.

Messages for other topics are written as they were given.
"""

import time
from dataclasses import replace

from strom.devices.adapter_json import DIALECT
from strom.ingest.gateway.messages import Alike, Message, Messages, RecordHeaders
from strom.ingest.meter_key import meter_key
from strom.streams import topics

_SOURCE = (topics.HEADER_SOURCE, b"http")
_DIALECT = (topics.HEADER_DIALECT, DIALECT.encode())
# What the door alone can know; a sender's own word for it is left out.
_OURS = (topics.HEADER_SOURCE, topics.HEADER_RECEIVED)


def stamped(messages: Messages, sender: str) -> Messages:
    """The messages as they are written; where one names no meter, its key is its sender, which keeps their order."""
    now = _now()
    if isinstance(messages, Alike):
        return replace(messages, headers=_headers(None, now)) if messages.topic == topics.RAW else messages
    return [_stamped(each, sender, now) if each.topic == topics.RAW else each for each in messages]


def stamped_one(message: Message, sender: str) -> Message:
    return _stamped(message, sender, _now()) if message.topic == topics.RAW else message


def _now() -> tuple[str, bytes]:
    return topics.HEADER_RECEIVED, b"%d" % (time.time_ns() // 1_000_000)


def _stamped(message: Message, sender: str, now: tuple[str, bytes]) -> Message:
    topic, value, key, partition, timestamp, headers = message
    if key is None:
        key = meter_key(value, sender, "")
    return Message(topic, value, key, partition, timestamp, _headers(headers, now))


def _headers(given: RecordHeaders | None, now: tuple[str, bytes]) -> RecordHeaders:
    if not given:
        return [_SOURCE, _DIALECT, now]
    kept = [each for each in given if each[0] not in _OURS]
    dialect = [] if any(name == topics.HEADER_DIALECT for name, _ in kept) else [_DIALECT]
    return [_SOURCE, *dialect, now, *kept]
