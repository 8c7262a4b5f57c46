"""The books of one request, with reports in every order that the client library may tell them in."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import pytest
from confluent_kafka import KafkaError

from strom.ingest.gateway.batches import Batch
from strom.ingest.gateway.messages import Alike, Message
from strom.ingest.gateway.outcome import NotWritten, Outcome

Called = tuple[bytes, bytes, Callable[[KafkaError | None, Any], None]]
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)


class Report:
    """What the client library tells of a message; only it can make the real ones."""

    def __init__(self, key: bytes, value: bytes, offset: int) -> None:
        self._key, self._value, self._offset = key, value, offset

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes:
        return self._value

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, 5


class Handed:
    """Takes messages as a producer does, and keeps what is to be called."""

    def __init__(self, room: int = 99) -> None:
        self.messages: list[Called] = []
        self._room = room

    def produce(self, _: str, value: str, key: bytes, __: int, called: Any, *___: Any) -> None:
        if len(self.messages) == self._room:
            raise BufferError
        self.messages.append((key, value.encode(), called))


class Way:
    def partition_for(self, _: Message) -> int:
        return -1

    def partitions_for(self, _: Alike) -> Iterable[int]:
        return repeat(-1)

    def alone(self) -> Any:
        raise AssertionError

    def notice(self, _: KafkaError) -> None:
        pass


def outcomes(
    keys: Sequence[str], reported: Sequence[int], failed: Sequence[int] = (), room: int = 99
) -> list[Outcome]:
    """Of messages with these keys, reported in this order; a message's offset is its index."""

    async def run() -> list[Outcome]:
        alike = Alike("t", [f"v{index}" for index in range(len(keys))], [key.encode() for key in keys])
        batch, handed = Batch.of(alike, Way(), 0.0), Handed(room)
        batch.hand_over(handed)  # type: ignore[arg-type]
        for index in reported:
            key, value, called = handed.messages[index]
            called(TIMED_OUT if index in failed else None, Report(key, value, index))
        return await batch.done

    return asyncio.run(run())


def told(found: list[Outcome]) -> list[int | None]:
    return [
        None if isinstance(each, NotWritten) else int(each.split('"offset":')[1].split(",")[0])
        for each in found
    ]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_keys_that_differ_may_be_reported_in_any_order(order: tuple[int, ...]) -> None:
    assert told(outcomes("abc", order)) == [0, 1, 2]


def test_messages_of_one_key_are_told_apart_by_their_order() -> None:
    assert told(outcomes("aabab", [2, 0, 1, 4, 3])) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("failed", [(1,), (2,), (1, 3), (0, 1, 2, 3)])
def test_what_failed_is_told_of_the_right_one_though_it_is_reported_before_what_was_sent_earlier(
    failed: tuple[int, ...],
) -> None:
    order = [*failed, *(index for index in range(4) if index not in failed)]
    expected = [None if index in failed else index for index in range(4)]
    assert told(outcomes("aaaa", order, failed)) == expected


def test_what_the_client_has_no_room_for_is_told_and_the_others_keep_their_places() -> None:
    found = outcomes("aabab", [0, 2, 1], room=3)
    assert told(found) == [0, 1, 2, None, None]
    assert [each.status for each in found if isinstance(each, NotWritten)] == [429, 429]
