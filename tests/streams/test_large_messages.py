"""Large messages on a real broker: sent in parts, read whole, and nothing lost of one that is half there."""

import asyncio
import logging
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from strom.settings import PartsSettings, Settings
from strom.streams import EARLIEST, Consumer, Producer, Record, StromError, Trouble, Why
from strom.streams.chunks import Part, parse_part, split
from strom.streams.producer import open_producer
from strom.streams.topics import HEADER_PART
from tests.streams.writing import SECONDS, lying_in, strom, topic_of, write

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("large"), partitions=3)


def with_parts(settings: Settings, **parts: Any) -> Settings:
    return settings.model_copy(update={"parts": PartsSettings(**parts)})


def put(settings: Settings, topic: str, *parts: tuple[Part, bytes]) -> None:
    """These parts as they are, on the first partition."""
    producer = open_producer(settings, "strom-test")
    for part, piece in parts:
        producer.produce(topic, piece, "k", 0, headers=[(HEADER_PART, part.header), ("a", b"1")])
    assert producer.flush(SECONDS) == 0


def read(settings: Settings, topic: str, **choices: Any) -> list[Record]:
    with Consumer(settings, topic, start=EARLIEST, until_end=True, **choices) as consumer:
        return list(consumer)


def test_a_value_over_the_brokers_limit_arrives_whole(stack: Settings, topic: str) -> None:
    value = bytes(range(256)) * 20_000  # 5 MB, and the broker takes 2
    with Producer(stack, compression="none") as producer:
        delivery = producer.send(topic, value, key="m", headers={"a": "1"}).result(60)
        producer.send(topic, b"small", key="m")
    assert (delivery.parts, delivery.offset) == (6, 5)
    parts = [record for record in lying_in(stack, topic) if record.header(HEADER_PART)]
    assert [parse_part(record.header(HEADER_PART)).index for record in parts] == list(range(6))  # type: ignore[union-attr]
    assert {(record.key, record.partition, record.header("a")) for record in parts} == {
        (b"m", delivery.partition, "1")
    }
    assert max(len(record.value or b"") for record in parts) == stack.parts.over_bytes
    large, small = read(stack, topic)
    assert (large.value, large.parts, large.offset) == (value, 6, 5)
    assert (large.key, large.headers) == (b"m", (("a", b"1"),))
    assert (small.value, small.parts) == (b"small", 1)


def test_messages_whose_parts_mingle_come_out_whole(stack: Settings, topic: str) -> None:
    values = [bytes([number]) * 500 for number in range(1, 6)]
    rounds = zip(*(split(value, 50) for value in values), strict=True)
    put(stack, topic, *chain.from_iterable(rounds))
    assert [record.value for record in read(stack, topic)] == values


def test_large_messages_of_senders_at_work_at_once_come_out_whole(stack: Settings, topic: str) -> None:
    few = with_parts(stack, over_bytes=1000)
    values = {bytes([number]) * 50_000 for number in range(40)}
    with Producer(few) as one, Producer(few) as other:
        for number, value in enumerate(sorted(values)):
            (one if number % 2 else other).send(topic, value)
    assert {record.value for record in read(few, topic)} == values


def test_parts_without_a_key_lie_side_by_side(stack: Settings, topic: str) -> None:
    few = with_parts(stack, over_bytes=10)
    with Producer(few) as producer:
        places = {producer.send(topic, b"x" * 95).result(60).partition for _ in range(20)}
    assert len(places) > 1
    assert [record.value for record in read(few, topic)] == [b"x" * 95] * 20


def test_an_async_reader_gets_whole_messages_too(stack: Settings, topic: str) -> None:
    few = with_parts(stack, over_bytes=10)

    async def send_and_read() -> list[bytes | None]:
        async with Producer(few) as producer:
            await producer.send(topic, b"x" * 95, key="m")
        async with Consumer(few, topic, start=EARLIEST, until_end=True) as consumer:
            return [record.value async for record in consumer]

    assert asyncio.run(send_and_read()) == [b"x" * 95]


def test_a_restart_in_the_middle_of_a_message_loses_nothing(
    stack: Settings, topic: str, unique: Unique
) -> None:
    """The group commits no further than its first part, and so the record in between comes again as well."""
    group = unique("g")
    first, second, third = split(b"abc", 1)
    write(stack, topic, b"before")
    put(stack, topic, first, second)
    write(stack, topic, b"between")
    with Consumer(stack, topic, start=EARLIEST, group=group, count=2) as consumer:
        assert [record.value for record in consumer] == [b"before", b"between"]
    put(stack, topic, third)
    write(stack, topic, b"after")
    with Consumer(stack, topic, start=EARLIEST, group=group, count=3) as consumer:
        assert [record.value for record in consumer] == [b"between", b"abc", b"after"]
    assert read(stack, topic, group=group) == []


def test_an_async_reader_commits_nothing_of_what_it_has_read_ahead(
    stack: Settings, topic: str, unique: Unique
) -> None:
    """When `between` is handed out, the message around it is whole already, but nobody has it yet."""
    group = unique("g")
    first, second = split(b"ab", 1)
    put(stack, topic, first)
    write(stack, topic, b"between")
    put(stack, topic, second)
    write(stack, topic, b"after")

    async def read_one() -> None:
        async with Consumer(stack, topic, start=EARLIEST, group=group, count=1) as consumer:
            assert [record.value async for record in consumer] == [b"between"]

    asyncio.run(read_one())
    assert [record.value for record in read(stack, topic, group=group)] == [b"between", b"ab", b"after"]


def next_of(settings: Settings, topic: str, consumer: Consumer) -> Record:
    write(settings, topic, b"more")
    return next(consumer)


def test_a_message_that_lacks_parts_does_not_hold_the_group_for_ever(
    stack: Settings, topic: str, unique: Unique
) -> None:
    group = unique("g")
    impatient = with_parts(stack, wait_seconds=0.5)
    troubles: list[Trouble] = []
    put(stack, topic, split(b"ab", 1)[0])
    with Consumer(impatient, topic, start=EARLIEST, group=group, on_trouble=troubles.append) as consumer:
        write(stack, topic, b"after")
        assert next(consumer).resume_at == 0
        while next_of(stack, topic, consumer).resume_at == 0:
            pass
        next_of(stack, topic, consumer)  # the one before is done with that
    assert [(trouble.why, trouble.first_offset) for trouble in troubles] == [(Why.MISSING, 0)]
    assert consumer.counters.missing == 1
    assert all(record.offset > 1 for record in read(stack, topic, group=group))


def test_what_cannot_become_whole_is_told_and_the_rest_is_read(
    stack: Settings, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    (part, piece), other = split(b"ab", 1)
    put(stack, topic, (part, piece), (other[0], b"?"), split(b"cd", 1)[1])
    write(stack, topic, b"fine")
    producer = open_producer(stack, "strom-test")
    producer.produce(topic, b"?", partition=0, headers=[(HEADER_PART, b"nonsense")])
    assert producer.flush(SECONDS) == 0
    with caplog.at_level(logging.WARNING, "strom.streams"):
        assert [record.value for record in read(stack, topic)] == [b"fine"]
    assert [line.split(" was left out: ")[1] for line in caplog.messages] == [
        f"the bytes of its 2 parts do not fit the digest {part.digest}.",
        "its header strom-part is none of a part.",
        "1 of its 2 parts are not there.",
    ]


def test_going_back_reads_a_message_again(stack: Settings, topic: str) -> None:
    put(stack, topic, *split(b"abc", 1))
    with Consumer(stack, topic, start=EARLIEST) as consumer:
        assert next(consumer).value == b"abc"
        consumer.seek(0)
        assert next(consumer).value == b"abc"


def test_an_aborted_transaction_leaves_no_parts_behind(stack: Settings, topic: str, unique: Unique) -> None:
    few = with_parts(stack, over_bytes=10)

    def send(*values: bytes, error: Exception | None = None) -> None:
        with producer.transaction():
            for value in values:
                producer.send(topic, value, key="m").result(60)
            if error is not None:
                raise error

    with Producer(few, transactional=unique("id")) as producer:
        with pytest.raises(ZeroDivisionError):
            send(b"x" * 95, error=ZeroDivisionError())
        send(b"y" * 95)
    assert [record.value for record in read(few, topic)] == [b"y" * 95]


def test_what_nobody_could_put_together_is_not_sent(stack: Settings, topic: str) -> None:
    small = with_parts(stack, over_bytes=1000, memory_mb=1)
    with Producer(small) as producer:
        with pytest.raises(StromError, match="larger than whoever puts its parts together takes"):
            producer.send(topic, b"x" * 1024 * 1024)
        with pytest.raises(StromError, match="The header strom-part is for parts"):
            producer.send(topic, b"x" * 2000, headers={HEADER_PART: "x"})
        largest = b"x" * 870_000  # with what 870 parts take beside their bytes
        producer.send(topic, largest)
    assert [record.value for record in read(small, topic)] == [largest]


def test_tail_shows_the_whole_or_the_parts_and_warns_of_what_is_missing(stack: Settings, topic: str) -> None:
    few = with_parts(stack, over_bytes=10)
    with Producer(few) as producer:
        producer.send(topic, "0123456789" * 3, key="m", partition=0)
    put(stack, topic, split(b"ab", 1)[0])
    shown = strom(few, "tail", topic, "--until-end", "--json")
    assert '"value": "012345678901234567890123456789", "parts": 3}' in shown.stdout
    assert len(shown.stdout.splitlines()) == 1
    assert shown.stderr == (
        f"warning: The message in parts at {topic}/0/3 was left out: 1 of its 2 parts are not there. "
        "--raw-parts shows what there is.\n"
    )
    assert shown.returncode == 0
    assert "30 bytes in 3 parts" in strom(few, "tail", topic, "--until-end").stdout
    raw = strom(few, "tail", topic, "--until-end", "--json", "--raw-parts")
    assert (len(raw.stdout.splitlines()), raw.stderr) == (4, "")
