"""The gateway's producers: which one sends an array, and what each knows of a topic's partitions."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.cimpl import NewPartitions

from strom.ingest.gateway.producers import Producers
from strom.settings import Settings
from strom.streams.admin import admin_client, topic_names
from tests.streams.writing import SECONDS, topic_of
from tests.waiting import until


@pytest.fixture
def producers() -> Producers:
    settings = Settings()
    nowhere = settings.kafka.model_copy(update={"bootstrap": "127.0.0.1:1"})
    return Producers(settings.model_copy(update={"kafka": nowhere}))


def test_an_array_alone_does_not_wait_as_long_as_one_among_many(producers: Producers) -> None:
    few, some, many = (producers.for_arrays(others, 0.0) for others in (0, 3, 7))
    assert len({few, some, many, producers.alone()}) == 4
    assert producers.usual is some


def test_for_a_moment_without_others_nothing_changes(producers: Producers) -> None:
    few, many = (producers.for_arrays(others, 0.0) for others in (0, 7))
    assert producers.for_arrays(0, 0.1) is many
    assert producers.for_arrays(6, 0.4) is many
    assert producers.for_arrays(0, 0.6) is few
    assert producers.for_arrays(1, 0.7) is few


def test_those_that_have_failed_for_good_are_not_used_again(producers: Producers) -> None:
    before = all_of(producers, 0.0)
    producers.begin_anew()
    assert not before & all_of(producers, 1.0)


def all_of(producers: Producers, now: float) -> set[Producer]:
    arrays = (producers.for_arrays(others, now) for others in (0, 7))
    return {*arrays, producers.usual, producers.alone()}


@pytest.mark.stack
def test_each_of_them_knows_a_new_partition_before_anything_goes_there(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    topic = topic_of(stack, unique("grows"), partitions=1)
    producers = Producers(stack)
    each = [producers.usual, producers.for_arrays(0, 0.0), producers.for_arrays(7, 0.0)]
    written: list[int | None] = []

    def came(error: KafkaError | None, report: Message) -> None:
        assert error is None
        written.append(report.partition())

    for producer in each:
        producer.produce(topic, b"to know the topic", partition=0, on_delivery=came)
        assert producer.flush(SECONDS) == 0
    admin = admin_client(stack)  # gone with it would be the answer
    admin.create_partitions([NewPartitions(topic, 8)])[topic].result()
    until(
        lambda: len(producers.list_topics(timeout=SECONDS).topics[topic].partitions) == 8,
        "all of them know the new partitions",
    )
    for producer in each:
        producer.produce(topic, b"there", partition=7, on_delivery=came)
        assert producer.flush(SECONDS) == 0
    assert written == [0, 0, 0, 7, 7, 7]


@pytest.mark.stack
def test_the_one_for_messages_alone_does_not_remember_partitions_that_are_gone(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    topic = topic_of(stack, unique("anew"), partitions=5)
    producers = Producers(stack)
    alone = producers.alone()
    producers.list_topics(timeout=SECONDS)
    admin = admin_client(stack)
    admin.delete_topics([topic])[topic].result()
    until(lambda: topic not in topic_names(stack), "the topic is gone")
    topic_of(stack, topic, partitions=1)
    errors: list[KafkaError | None] = []
    for number in range(40):
        alone.produce(topic, b"v", f"k{number}", on_delivery=lambda error, _: errors.append(error))
    assert alone.flush(SECONDS) == 0
    assert errors == [None] * 40
