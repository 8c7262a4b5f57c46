"""How Spark writes records to Kafka: confirmed by all replicas, each partition in order and without gaps."""

from strom.settings import Settings
from strom.streams import topics


def sink_options(settings: Settings, linger_ms: int) -> dict[str, str]:
    """For the columns topic, key, value, headers and, where it matters, partition."""
    return {
        "kafka.bootstrap.servers": settings.kafka_bootstrap,
        "kafka.max.request.size": str(2 * topics.MAX_MESSAGE_BYTES),
        "kafka.compression.type": "lz4",
        # A backlog goes out in full requests; what comes one by one does not wait for company.
        "kafka.batch.size": str(256 * 1024),
        "kafka.linger.ms": str(linger_ms),
        # Rows must reach a partition in order and without gaps, or a repeat could not be told from a new one.
        "kafka.acks": "all",
        "kafka.enable.idempotence": "true",
        "kafka.delivery.timeout.ms": str(2**31 - 1),
    }
