"""Why Kafka did not write what a producer sent, as one sentence that says what to do."""

from confluent_kafka import KafkaError, KafkaException

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.choices import TRANSACTION_SECONDS, Choices
from strom.streams.client import UNREACHABLE, error_of, no_answer, refused

_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_TXN_STATE,
    }
)
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
_UNKNOWN = frozenset(
    {KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART}
)


class TakenOverError(StromError):
    """Another producer has the transactional id: this one is of no more use."""


class MessageError(StromError):
    """The fault is this message's own: others may well be written."""


class Refusals:
    def __init__(self, settings: Settings, choices: Choices) -> None:
        self._settings = settings
        self._choices = choices

    def of(self, exception: KafkaException) -> StromError:
        """What a request of the producer itself was answered with."""
        return self.of_delivery(error_of(exception), "")

    def of_delivery(self, error: KafkaError, topic: str) -> StromError:
        """What a message for this topic was answered with."""
        code = error.code()
        if code in _FENCED:
            return TakenOverError(
                f"Another producer has taken over the transactional id {self._choices.transactional}, or a transaction "
                f"was open for more than {TRANSACTION_SECONDS:g} s: this one can write no more; give each producer an id of its own."
            )
        if code == KafkaError._MSG_TIMED_OUT:
            return no_answer(self._settings, f"nothing was confirmed for {self._choices.timeout:g} s")
        if code in UNREACHABLE:
            return no_answer(self._settings, error)
        if code == KafkaError.MSG_SIZE_TOO_LARGE:
            return MessageError(
                f"{topic or 'The topic'} takes no message, or batch of them, of that size: set its max.message.bytes "
                "higher or parts.over_bytes lower, or send one by one (sync)."
            )
        if code == KafkaError._STATE:
            return StromError("The transaction has failed: an earlier message of it was refused.")
        if code in _PURGED:
            return StromError("It was not sent any more: the transaction or the producer was ended before.")
        if code in _UNKNOWN:
            return StromError(
                f"The topic {topic} or that partition of it has gone; `strom topics list` shows them."
            )
        return refused(f"write to {topic}" if topic else "go on with the transaction", error)
