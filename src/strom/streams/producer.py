"""How Strom writes to Kafka: confirmed by all replicas, no duplicates of its own, in order per key."""

from typing import Any

from confluent_kafka import Producer

from strom.settings import Settings
from strom.streams.client import common_config
from strom.streams.topics import MAX_MESSAGE_BYTES

LINGER_MS = 5


def producer_config(settings: Settings, name: str) -> dict[str, Any]:
    """Never gives up on a record by itself: an hour without Kafka is an hour of waiting, not a loss."""
    return common_config(settings, name) | {
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "linger.ms": LINGER_MS,
        "message.timeout.ms": 0,
        "message.max.bytes": MAX_MESSAGE_BYTES,
        # The same key goes to the same partition as with Kafka's own clients.
        "partitioner": "murmur2_random",
    }


def open_producer(settings: Settings, name: str, **overrides: Any) -> Producer:
    return Producer(producer_config(settings, name) | overrides)
