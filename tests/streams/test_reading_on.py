"""Reading from Python: as others iterate, commit when it is done, go elsewhere, find what is made later."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from strom.settings import Settings
from strom.streams import EARLIEST, Consumer, Record, StromError
from tests.streams.writing import topic_of, write
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]
AT_MS = 1_794_773_700_000


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


def rest(settings: Settings, topic: str, group: str) -> list[bytes | None]:
    """What a group has still before it."""
    with Consumer(settings, topic, start=EARLIEST, until_end=True, group=group, auto_commit=False) as found:
        return [record.value for record in found]


def take(consumer: Consumer, number: int) -> list[Record]:
    return [next(consumer) for _ in range(number)]


def test_an_async_reader_gets_every_record_in_order(stack: Settings, topic: str, unique: Unique) -> None:
    values = [b"%d" % number for number in range(1200)]
    write(stack, topic, *values)

    async def read() -> list[bytes | None]:
        async with Consumer(stack, topic, start="earliest", until_end=True, group=group) as consumer:
            return [record.value async for record in consumer]

    group = unique("g")
    assert asyncio.run(read()) == values
    assert rest(stack, topic, group) == []


def test_an_async_reader_that_ends_early_has_done_only_what_it_asked_past(
    stack: Settings, topic: str, unique: Unique
) -> None:
    write(stack, topic, *[b"%d" % number for number in range(100)])
    group = unique("g")

    async def read() -> None:
        async with Consumer(stack, topic, start="earliest", group=group) as consumer:
            async for record in consumer:
                if record.value == b"41":
                    return

    asyncio.run(read())
    assert rest(stack, topic, group)[0] == b"41"


def test_an_async_reader_can_be_cancelled_while_it_waits(stack: Settings, topic: str) -> None:
    async def read() -> list[bytes | None]:
        found: list[bytes | None] = []
        async with Consumer(stack, topic, start="earliest") as consumer:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(consumer), 0.3)
            write(stack, topic, b"a", b"b")
            async for record in consumer:
                found.append(record.value)
                if len(found) == 2:
                    consumer.stop()
        return found

    assert asyncio.run(read()) == [b"a", b"b"]


def test_without_automatic_commit_only_what_was_committed_is_done(
    stack: Settings, topic: str, unique: Unique
) -> None:
    group = unique("g")
    write(stack, topic, b"a", b"b", b"c", b"d")
    with Consumer(stack, topic, start=EARLIEST, group=group, auto_commit=False) as consumer:
        first, *_ = take(consumer, 3)
        consumer.commit(first)
    assert rest(stack, topic, group) == [b"b", b"c", b"d"]
    with Consumer(stack, topic, start=EARLIEST, group=group, auto_commit=False) as consumer:
        take(consumer, 2)
        consumer.commit()
        next(consumer)
    assert rest(stack, topic, group) == [b"d"]
    with Consumer(stack, topic) as consumer, pytest.raises(StromError, match="Only a group keeps its place"):
        consumer.commit()


@pytest.mark.parametrize("grouped", [True, False])
def test_reading_goes_on_where_it_is_told_to(
    stack: Settings, topic: str, unique: Unique, grouped: bool
) -> None:
    write(stack, topic, b"a", b"b", b"c", b"d", at_ms=AT_MS)
    group = unique("g") if grouped else None
    with Consumer(stack, topic, start=EARLIEST, group=group) as consumer:
        consumer.seek(2)
        assert [record.value for record in take(consumer, 2)] == [b"c", b"d"]
        consumer.seek("earliest", topic, 0)
        assert next(consumer).value == b"a"
        consumer.seek(datetime.fromtimestamp((AT_MS + 1) / 1000, UTC))
        assert [record.value for record in take(consumer, 2)] == [b"b", b"c"]
        consumer.seek(-1)
        assert next(consumer).value == b"d"
        consumer.seek("latest")
        write(stack, topic, b"e")
        assert next(consumer).value == b"e"
        with pytest.raises(StromError, match="Nothing is read here of other"):
            consumer.seek(0, "other")


def test_a_reader_to_the_end_that_goes_back_still_ends(stack: Settings, topic: str) -> None:
    write(stack, topic, b"a", b"b")
    with Consumer(stack, topic, start="earliest", until_end=True) as consumer:
        assert len(list(consumer)) == 2
        consumer.seek(1)
        assert [record.value for record in consumer] == [b"b"]


@pytest.mark.parametrize("grouped", [True, False])
def test_a_pattern_finds_topics_that_are_made_later_from_their_first_record(
    stack: Settings, unique: Unique, grouped: bool
) -> None:
    prefix = unique("p")
    group = unique("g") if grouped else None
    with Consumer(stack, pattern=rf"{prefix}\.\d+", group=group, count=3) as consumer:
        assert consumer.topics == []

        def make() -> None:
            for number in range(2):
                write(stack, topic_of(stack, f"{prefix}.{number}"), b"%d" % number)
            write(stack, topic_of(stack, f"{prefix}.other"), b"never")
            write(stack, f"{prefix}.0", b"more", partition=1)

        threading.Timer(0.2, make).start()
        assert sorted(record.value or b"" for record in consumer) == [b"0", b"1", b"more"]
        assert sorted(consumer.topics) == [f"{prefix}.0", f"{prefix}.1"]


def test_a_reader_that_was_not_opened_says_how(stack: Settings, topic: str) -> None:
    with pytest.raises(StromError, match="reads within a block"):
        next(Consumer(stack, topic))


def test_two_of_a_group_share_and_the_one_that_stays_goes_on_for_both(
    stack: Settings, topic: str, unique: Unique
) -> None:
    group = unique("g")
    seen: set[bytes] = set()
    with Consumer(stack, topic, start=EARLIEST, group=group) as first:
        write(stack, topic, b"a", partition=0)
        write(stack, topic, b"b", partition=1)
        seen.update(record.value or b"" for record in take(first, 2))
        with Consumer(stack, topic, start=EARLIEST, group=group) as second:
            reader = threading.Thread(target=lambda: seen.update(r.value or b"" for r in first))
            reader.start()
            other = threading.Thread(target=lambda: seen.update(r.value or b"" for r in second))
            other.start()
            write(stack, topic, b"c", partition=0)
            write(stack, topic, b"d", partition=1)
            second.stop()
            other.join()
        write(stack, topic, b"e", partition=0)
        write(stack, topic, b"f", partition=1)
        until(lambda: seen >= {b"a", b"b", b"c", b"d", b"e", b"f"}, "all are read")
        first.stop()
        reader.join()
    assert rest(stack, topic, group) == []
