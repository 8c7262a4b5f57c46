"""Which of a broker's answers are only for a moment."""

import pytest
from confluent_kafka import KafkaError

from strom.streams.client import passes


@pytest.mark.parametrize("code", [KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_LEADER_EPOCH])
def test_a_partition_between_two_leaders_is_asked_again(code: int) -> None:
    assert passes(KafkaError(code))


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.INVALID_CONFIG])
def test_a_refusal_is_not(code: int) -> None:
    assert not passes(KafkaError(code))
