"""Senders and readers when the broker dies under them: nothing is lost, nothing gets out of order, and what fails says so."""

import threading
from collections.abc import Callable

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import EARLIEST, Consumer, Producer, StromError
from strom.streams.chunks import Part, split
from strom.streams.topics import HEADER_PART
from tests.streams.senders import run_senders
from tests.streams.test_order import assert_in_order
from tests.streams.writing import lying_in, topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]


def test_a_meter_stays_in_order_though_the_broker_dies_under_its_senders(
    servers: Stack, unique: Unique
) -> None:
    topic = topic_of(servers.settings, unique("order"), partitions=6)
    sending = threading.Thread(target=run_senders, args=(servers.settings, topic, 1000))
    sending.start()
    until(lambda: len(lying_in(servers.settings, topic)) > 1000, "the senders are at work")
    gone = servers.kill("kafka")
    assert sending.is_alive(), "nothing was under way when the broker died"
    servers.await_ready("kafka", other_than=gone)
    sending.join()
    assert_in_order(servers.settings, topic, 1000)


def put(settings: Settings, topic: str, *parts: tuple[Part, bytes]) -> None:
    with Producer(settings) as producer:
        for part, piece in parts:
            producer.send(topic, piece, partition=0, headers={HEADER_PART: part.header})
        producer.send(topic, b"small", partition=0)


@pytest.mark.parametrize("grouped", [True, False])
def test_a_reader_goes_on_when_the_broker_is_back_also_within_a_large_message(
    servers: Stack, unique: Unique, grouped: bool
) -> None:
    settings = servers.settings
    topic = topic_of(settings, unique("read"))
    seen: set[bytes] = set()
    first, second = split(b"large", 3)
    consumer = Consumer(settings, topic, start=EARLIEST, group=unique("g") if grouped else None)

    def read() -> None:
        with consumer:
            seen.update(record.value or b"" for record in consumer)

    reading = threading.Thread(target=read)
    reading.start()
    put(settings, topic, first)
    gone = servers.kill("kafka")
    servers.await_ready("kafka", other_than=gone)
    put(settings, topic, second)
    until(lambda: seen >= {b"small", b"large"}, "the message is whole")
    consumer.stop()
    reading.join()
    assert seen == {b"small", b"large"}  # and no part of it


def send_and_ask(settings: Settings, topic: str) -> BaseException | None:
    with Producer(settings, timeout=2) as producer:
        producer.check(topic)
        return producer.send(topic, b"v").exception(60)


def test_a_message_that_is_not_confirmed_in_time_is_given_up_with_a_sentence(
    servers: Stack, unique: Unique
) -> None:
    settings = servers.settings
    topic = topic_of(settings, unique("late"))
    with Producer(settings, timeout=2) as producer:
        assert producer.send(topic, b"before").result(60).offset == 0
        servers.halt("kafka")
        try:
            refusal = producer.send(topic, b"never").exception(60)
            with pytest.raises(StromError, match="does not answer"):
                send_and_ask(settings, topic)
        finally:
            servers.resume("kafka")
            servers.await_ready("kafka")
    assert isinstance(refusal, StromError)
    assert f"Kafka at {settings.kafka_bootstrap} does not answer (nothing was confirmed for 2 s)" in str(
        refusal
    )
    assert [record.value for record in lying_in(settings, topic)] == [b"before"]


def send_while_away(servers: Stack, producer: Producer, topic: str) -> None:
    with producer.transaction():
        producer.send(topic, b"first").result(60)
        servers.halt("kafka")
        producer.send(topic, b"second")


def test_a_transaction_that_the_broker_does_not_live_to_see_is_never_seen(
    servers: Stack, unique: Unique
) -> None:
    topic = topic_of(servers.settings, unique("half"))
    name = unique("id")
    try:
        with (
            Producer(servers.settings, transactional=name, timeout=2) as producer,
            pytest.raises(StromError, match="does not answer"),
        ):
            send_while_away(servers, producer, topic)
    finally:
        servers.resume("kafka")
        servers.await_ready("kafka")
    with Producer(servers.settings, transactional=name) as producer, producer.transaction():
        producer.send(topic, b"third", partition=0)
    until(lambda: [record.value for record in lying_in(servers.settings, topic)] == [b"third"], "it is seen")
