"""All or nothing: a transaction is seen whole, or never."""

from collections.abc import Callable

import pytest

from strom.settings import Settings
from strom.streams import Producer, StromError
from tests.streams.writing import lying_in, topic_of

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


def values(settings: Settings, topic: str) -> list[bytes]:
    return sorted(record.value or b"" for record in lying_in(settings, topic))


def send(producer: Producer, topic: str, *values: bytes, error: Exception | None = None) -> None:
    """All of them in one transaction, which ends by this error if one is given."""
    with producer.transaction():
        for value in values:
            producer.send(topic, value)
        if error is not None:
            raise error


def test_a_block_that_ends_well_is_seen_and_not_before(stack: Settings, topic: str, unique: Unique) -> None:
    with Producer(stack, transactional=unique("id")) as producer:
        with producer.transaction():
            futures = [producer.send(topic, value, partition=0) for value in (b"a", b"b")]
            assert [future.result(60).offset for future in futures] == [0, 1]
            assert values(stack, topic) == []
        assert values(stack, topic) == [b"a", b"b"]
        send(producer, topic, b"c")
    assert values(stack, topic) == [b"a", b"b", b"c"]


def test_a_block_that_fails_leaves_nothing_and_the_next_one_works(
    stack: Settings, topic: str, unique: Unique
) -> None:
    with Producer(stack, transactional=unique("id")) as producer:
        with pytest.raises(ZeroDivisionError):
            send(producer, topic, b"never", error=ZeroDivisionError())
        send(producer, topic, b"seen")
    assert values(stack, topic) == [b"seen"]


def send_and_ask(producer: Producer, topic: str, *values: bytes) -> None:
    with producer.transaction():
        for value in values:
            producer.send(topic, value).exception(60)


@pytest.mark.parametrize("sending", [send, send_and_ask])
def test_a_message_that_is_refused_takes_the_others_along(
    stack: Settings, unique: Unique, sending: Callable[..., None]
) -> None:
    topic = topic_of(stack, unique("small"), config={"max.message.bytes": "2000"})
    name = unique("id")
    with Producer(stack, transactional=name, compression="none") as producer:
        with pytest.raises(StromError, match="takes no message, or batch of them, of that size"):
            sending(producer, topic, b"fits", b"x" * 5000)
        with pytest.raises(StromError, match="open a new producer"):
            send(producer, topic, b"never")
    with Producer(stack, transactional=name, compression="none") as producer:
        send(producer, topic, b"fits again")
    assert values(stack, topic) == [b"fits again"]


def test_a_producer_whose_id_was_taken_over_says_so_in_one_sentence(
    stack: Settings, topic: str, unique: Unique
) -> None:
    name = unique("id")
    with Producer(stack, transactional=name) as old:
        send(old, topic, b"old")
        with Producer(stack, transactional=name) as new:
            for _ in range(2):
                with pytest.raises(
                    StromError, match=f"Another producer has taken over the transactional id {name}"
                ):
                    send(old, topic, b"never")
            send(new, topic, b"new")
    assert values(stack, topic) == [b"new", b"old"]


def test_what_is_not_meant_is_refused(stack: Settings, topic: str, unique: Unique) -> None:
    with Producer(stack, transactional=unique("id")) as producer:
        with pytest.raises(StromError, match="A transactional producer sends within"):
            producer.send(topic, b"v")
        with pytest.raises(StromError, match="open already"), producer.transaction():
            send(producer, topic, b"v")
    with Producer(stack) as plain, pytest.raises(StromError, match="Only a transactional producer"):
        send(plain, topic, b"v")
    assert values(stack, topic) == []
