"""What every Kafka client of Strom has in common: address, name, log, and words for a broker that is away.

It knows nothing of topics or records.
"""

import logging
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from strom.errors import StromError
from strom.settings import Settings

LOG = logging.getLogger("strom.kafka")
# librdkafka reports every failed attempt, Strom's parts say once that Kafka is away; whoever wants all of it adds a handler.
LOG.addHandler(logging.NullHandler())
LOG.propagate = False

ANSWER_SECONDS = 15.0


def common_config(settings: Settings, name: str) -> dict[str, Any]:
    """Configuration that producers, consumers and admin clients share."""
    return {
        "bootstrap.servers": settings.kafka_bootstrap,
        "client.id": name,
        "logger": LOG,
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 2000,
    }


class AwayError(StromError):
    """No broker can be reached: asking again, or for something else, would be in vain now."""


def no_answer(settings: Settings, error: KafkaError | str) -> AwayError:
    """The sentence for a broker that cannot be reached."""
    reason = error if isinstance(error, str) else (error.str() or error.name())
    return AwayError(
        f"Kafka at {settings.kafka_bootstrap} does not answer ({reason}); "
        "start it with `strom up` or name another one with --kafka."
    )


def refused(what: str, error: KafkaError) -> StromError:
    """The sentence for a request that the broker answered with a no."""
    reason = (error.str() or error.name()).rstrip(".")
    return StromError(f"Kafka refused to {what}: {reason}; correct the request or the broker's settings.")


def error_of(exception: KafkaException) -> KafkaError:
    """The error inside an exception of the client library."""
    error = exception.args[0]
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(exception))


def passes(error: KafkaError) -> bool:
    """Whether a broker answers so only for a moment, after a start or while a partition changes its leader."""
    return error.retriable() or error.code() in _PASSING


# The client library does not mark these as worth another try.
_PASSING = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
UNREACHABLE = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._SSL,
        KafkaError._AUTHENTICATION,
    }
)


def as_strom_error(settings: Settings, what: str, exception: KafkaException) -> StromError:
    """One sentence for any failure of the client library."""
    error = error_of(exception)
    return no_answer(settings, error) if error.code() in UNREACHABLE else refused(what, error)
