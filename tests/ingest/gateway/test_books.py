"""The books of one message, and of several that are not alike: what Kafka says of each is told, and told once."""

import asyncio
import json
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError

from strom.ingest.gateway.batches import Batch
from strom.ingest.gateway.messages import Message
from strom.ingest.gateway.outcome import LATE, NotWritten, Outcome
from strom.ingest.gateway.single import Single
from tests.ingest.gateway.books import GONE, TIMED_OUT, Handed, Way

REFUSED = KafkaError(KafkaError.INVALID_RECORD)
MESSAGE = Message("t", b"v", b"k")
Books = Single | Batch


def single(message: Message, way: Way) -> Single:
    return Single(message, way, asyncio.get_running_loop().create_future())


def batch(message: Message, way: Way) -> Batch:
    return Batch([message], way)


either = pytest.mark.parametrize("made", [single, batch])


def outcome_of(
    made: Callable[[Message, Way], Books],
    tell: Callable[[Books, Handed, Way], None],
    message: Message = MESSAGE,
    room: int = 99,
) -> tuple[Outcome, Books, Way]:
    async def run() -> tuple[Outcome, Books, Way]:
        way, handed = Way(), Handed(room)
        books = made(message, way)
        books.hand_over(handed)  # type: ignore[arg-type]
        tell(books, handed, way)
        said = await books.done
        return said[0] if isinstance(said, list) else said, books, way

    return asyncio.run(run())


@either
def test_what_is_written_is_told_its_place(made: Callable[[Message, Way], Books]) -> None:
    said, books, way = outcome_of(made, lambda _, handed, __: handed.report(0, 7))
    assert isinstance(said, str)
    assert json.loads(said) == {"topic": "t", "partition": 0, "offset": 7, "timestamp": 0}
    assert (books.count, books.failed, way.settled_books, way.noticed) == (1, 0, [books], [])


@either
def test_where_kafka_does_not_say_the_offset_it_is_null(made: Callable[[Message, Way], Books]) -> None:
    said, _, __ = outcome_of(made, lambda _, handed, __: handed.report(0, -1))
    assert isinstance(said, str)
    assert json.loads(said)["offset"] is None


@either
@pytest.mark.parametrize("error", [REFUSED, GONE])
def test_what_may_be_anothers_fault_is_sent_again_alone(
    made: Callable[[Message, Way], Books], error: KafkaError
) -> None:
    def tell(_: Books, handed: Handed, way: Way) -> None:
        handed.report(0, -1, error)
        way.one_by_one.report(0, 9)

    said, books, way = outcome_of(made, tell)
    assert isinstance(said, str)
    assert json.loads(said)["offset"] == 9
    assert (books.failed, way.noticed) == (0, [])


@either
def test_what_is_refused_also_alone_is_told_so_and_not_tried_a_third_time(
    made: Callable[[Message, Way], Books],
) -> None:
    def tell(_: Books, handed: Handed, way: Way) -> None:
        handed.report(0, -1, REFUSED)
        way.one_by_one.report(0, -1, REFUSED)

    said, books, way = outcome_of(made, tell)
    assert isinstance(said, NotWritten)
    assert (said.status, books.failed, way.settled_books) == (400, 1, [books])
    assert (len(way.one_by_one.messages), way.noticed) == (1, [REFUSED])


@either
def test_a_partition_that_was_asked_for_is_not_replaced_by_another(
    made: Callable[[Message, Way], Books],
) -> None:
    said, _, way = outcome_of(
        made, lambda _, handed, __: handed.report(0, -1, GONE), MESSAGE._replace(partition=3)
    )
    assert isinstance(said, NotWritten)
    assert (said.status, way.one_by_one.messages) == (400, [])


@either
def test_without_room_in_the_client_it_is_429_and_nothing_waits(
    made: Callable[[Message, Way], Books],
) -> None:
    said, books, way = outcome_of(made, lambda *_: None, room=0)
    assert isinstance(said, NotWritten)
    assert (said.status, said.written, way.settled_books) == (429, "no", [books])


@either
def test_what_is_given_up_may_be_written_and_a_later_report_changes_nothing(
    made: Callable[[Message, Way], Books],
) -> None:
    def tell(books: Books, handed: Handed, _: Way) -> None:
        books.give_up()
        handed.report(0, 7)

    said, books, way = outcome_of(made, tell)
    assert (said, books.failed, way.settled_books) == (LATE, 1, [books])


@either
def test_whoever_no_longer_waits_does_not_keep_it_in_the_books(made: Callable[[Message, Way], Books]) -> None:
    async def run() -> tuple[Books, Way]:
        way, handed = Way(), Handed()
        books = made(MESSAGE, way)
        books.hand_over(handed)  # type: ignore[arg-type]
        books.done.cancel()
        handed.report(0, -1, TIMED_OUT)
        return books, way

    books, way = asyncio.run(run())
    assert (way.settled_books, books.failed) == ([books], 1)
