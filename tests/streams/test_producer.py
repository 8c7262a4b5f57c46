"""Sending from Python: a future for each message, whatever was chosen, and a sentence where it cannot be."""

import asyncio
import concurrent.futures
import inspect
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from strom.cli.produce import produce
from strom.settings import KafkaSettings, Settings
from strom.streams import Delivery, Producer, StromError
from strom.streams.choices import Choices
from tests.streams.writing import lying_in, topic_of

stack_test = pytest.mark.stack
Unique = Callable[[str], str]
AT_MS = 1_794_773_700_000
NOWHERE = Settings(kafka=KafkaSettings(bootstrap="127.0.0.1:1"))


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"acks": "1", "idempotent": True}, "idempotent needs acks all, not 1"),
        ({"acks": "0", "idempotent": True}, "idempotent needs acks all, not 0"),
        (
            {"acks": "1", "transactional": "t"},
            "transactional needs acks all and idempotent; leave out acks 1",
        ),
        ({"idempotent": False, "transactional": "t"}, "leave out --no-idempotent"),
        ({"transactional": ""}, "transactional needs an id"),
        ({"acks": "2"}, "acks '2' is unknown: choose 0, 1, all"),
        ({"compression": "zip"}, "compression 'zip' is unknown: choose none, gzip"),
        ({"timeout": 0.0}, "timeout 0 is too short"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(StromError, match=words):
        Choices(**choices)
    with pytest.raises(StromError, match=words):
        Producer(NOWHERE, **choices)


def test_without_idempotence_one_request_is_under_way_so_that_none_overtakes() -> None:
    assert Choices(acks="1").config()["max.in.flight.requests.per.connection"] == 1
    assert "max.in.flight.requests.per.connection" not in Choices().config()
    assert Choices().config()["enable.idempotence"] is True


@pytest.mark.parametrize("chosen", [{}, {"acks": "1"}, {"transactional": "t"}])
def test_a_broker_may_be_away_for_minutes_before_a_message_is_given_up(chosen: dict[str, Any]) -> None:
    assert Choices(**chosen).config()["message.timeout.ms"] >= 5 * 60_000
    defaults = [
        inspect.signature(each).parameters["timeout"].default for each in (Choices, Producer, produce)
    ]
    assert defaults == [Choices().timeout] * 3


def test_a_producer_sends_only_within_its_block() -> None:
    producer = Producer(NOWHERE)
    with pytest.raises(StromError, match="sends within its block"):
        producer.send("t", b"v")


@stack_test
def test_a_message_lies_where_its_future_says(stack: Settings, topic: str) -> None:
    with Producer(stack) as producer:
        moment = datetime.fromtimestamp(AT_MS / 1000, UTC)
        sent = producer.send(
            topic, "wert", key="m1", headers={"a": "1", "b": None}, partition=1, timestamp=moment
        )
        assert sent.result(60) == Delivery(topic, 1, 0, AT_MS)
        producer.send(topic, None, b"m2", headers=[("c", b"\xff"), ("c", b"2")], partition=1)
    first, second = lying_in(stack, topic)
    assert (first.key, first.value, first.at_ms) == (b"m1", b"wert", AT_MS)
    assert first.headers == (("a", b"1"), ("b", None))
    assert (second.value, second.headers) == (None, (("c", b"\xff"), ("c", b"2")))


@stack_test
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"acks": 0},
        {"acks": 1, "compression": "none"},
        {"acks": "all", "idempotent": False, "compression": "zstd"},
        {"sync": True, "compression": "gzip"},
        {"compression": "snappy"},
    ],
    ids=str,
)
def test_every_choice_writes_all_in_order(stack: Settings, topic: str, choices: dict[str, Any]) -> None:
    values = [b"%d" % number for number in range(200)]
    with Producer(stack, **choices) as producer:
        futures = [producer.send(topic, value, key="m") for value in values]
        assert len(concurrent.futures.wait(futures, 60).done) == 200
    assert [record.value for record in lying_in(stack, topic)] == values
    offsets = [future.result().offset for future in futures]
    assert offsets == ([None] * 200 if choices.get("acks") == 0 else list(range(200)))


@stack_test
def test_a_synchronous_send_returns_when_kafka_has_it(stack: Settings, topic: str) -> None:
    with Producer(stack, sync=True) as producer:
        assert producer.send(topic, b"v").done()


@stack_test
def test_what_a_delivery_calls_back_may_send_but_not_wait(stack: Settings, topic: str) -> None:
    refusals: list[str] = []

    def answered(_: object) -> None:
        producer.send(topic, b"second", partition=0)
        try:
            producer.flush()
        except StromError as error:
            refusals.append(str(error))

    with Producer(stack) as producer:
        producer.send(topic, b"first", partition=0).add_done_callback(answered)
    assert [record.value for record in lying_in(stack, topic)] == [b"first", b"second"]
    assert refusals == ["Nothing can be waited for in what a delivery calls back; wait elsewhere."]


@stack_test
def test_a_delivery_can_be_awaited(stack: Settings, topic: str) -> None:
    async def send() -> list[Delivery]:
        async with Producer(stack) as producer:
            first = await producer.send(topic, "one", key="m", partition=0)
            more = await asyncio.gather(*(producer.send(topic, "more", partition=0) for _ in range(10)))
            return [first, *more]

    assert [each.offset for each in asyncio.run(send())] == list(range(11))


@stack_test
def test_what_was_sent_cannot_be_cancelled_by_one_who_stops_waiting(stack: Settings, topic: str) -> None:
    async def send() -> None:
        async with Producer(stack) as producer:
            future = producer.send(topic, "v")
            waiting = asyncio.ensure_future(asyncio.wait_for(future, 60))
            await asyncio.sleep(0)
            waiting.cancel()
            assert not future.cancel()

    asyncio.run(send())
    assert len(lying_in(stack, topic)) == 1


@stack_test
def test_a_topic_that_is_mistyped_is_not_made(stack: Settings, topic: str) -> None:
    with Producer(stack) as producer:
        with pytest.raises(StromError, match=f"There is no topic {topic}x at .*; did you mean {topic}?"):
            producer.send(f"{topic}x", b"v")
        with pytest.raises(StromError, match=f"{topic} has no partition 2; it has 0 to 1."):
            producer.send(topic, b"v", partition=2)
        with pytest.raises(StromError, match="timestamp -5 is before 1970"):
            producer.send(topic, b"v", timestamp=-5)
    assert lying_in(stack, topic) == []


def test_a_broker_that_is_away_is_one_sentence() -> None:
    with (
        Producer(NOWHERE) as producer,
        pytest.raises(StromError, match=r"Kafka at 127.0.0.1:1 does not answer"),
    ):
        producer.send("t", b"v")


@stack_test
def test_a_refusal_comes_with_the_future_and_is_told_once(stack: Settings, topic: str) -> None:
    with Producer(stack) as producer:
        large = {"large": b"x" * 3_000_000}  # headers are not split
        with pytest.raises(StromError, match=f"{topic} takes no message, or batch of them, of that size"):
            producer.send(topic, b"v", headers=large)


def send_and_ask_nothing(settings: Settings, topic: str, *values: bytes) -> None:
    with Producer(settings, compression="none") as producer:
        for value in values:
            concurrent.futures.wait([producer.send(topic, value)], 60)


@stack_test
def test_a_refusal_that_nobody_asked_about_is_told_at_the_end(stack: Settings, unique: Unique) -> None:
    topic = topic_of(stack, unique("small"), config={"max.message.bytes": "2000"})
    large = b"x" * 5000
    said = f"Kafka did not write 2 of the messages; the first: {topic} takes no message"
    with pytest.raises(StromError, match=re.escape(said)):
        send_and_ask_nothing(stack, topic, large, b"fits", large, b"fits")
    assert [record.value for record in lying_in(stack, topic)] == [b"fits"] * 2
    with Producer(stack, compression="none") as producer:  # one that was asked about is not told again
        assert isinstance(producer.send(topic, large).exception(60), StromError)


def send_and_stumble(settings: Settings, topic: str) -> None:
    with Producer(settings) as producer:
        producer.send(topic, b"v")
        raise ZeroDivisionError


@stack_test
def test_an_error_in_the_block_does_not_lose_what_was_sent_before(stack: Settings, topic: str) -> None:
    with pytest.raises(ZeroDivisionError):
        send_and_stumble(stack, topic)
    assert len(lying_in(stack, topic)) == 1
