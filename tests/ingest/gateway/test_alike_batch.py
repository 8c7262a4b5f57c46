"""The books of an array, with reports in every order that the client library may tell them in."""

import asyncio
import itertools
import json
from collections.abc import Sequence

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

from strom.ingest.gateway.alike_batch import AlikeBatch
from strom.ingest.gateway.messages import Alike
from strom.ingest.gateway.outcome import LATE, NotWritten, Outcome
from tests.ingest.gateway.books import GONE, OUR_TIME, TIMED_OUT, Handed, Way

KAFKAS_TIME = TIMESTAMP_LOG_APPEND_TIME
FIRST_OFFSETS = {0: 100, 1: 200}  # of the partitions


def array(keys: str, values: str = "") -> Alike:
    return Alike(
        "t", [*values] or [f"v{index}" for index in range(len(keys))], [key.encode() for key in keys]
    )


def told(found: list[Outcome]) -> list[tuple[int, int] | None]:
    """Partition and offset of each."""
    places = [None if isinstance(each, NotWritten) else json.loads(each) for each in found]
    return [each and (each["partition"], each["offset"]) for each in places]


def outcomes(
    alike: Alike, reported: Sequence[int], failed: Sequence[int] = (), room: int = 99
) -> list[tuple[int, int] | None]:
    """With reports in this order; what does not fail gets the next offset of its partition, in the order of the array."""

    async def run() -> list[Outcome]:
        batch, handed = AlikeBatch(alike, Way()), Handed(room)
        batch.hand_over(handed)  # type: ignore[arg-type]
        offsets = written(alike, [*failed, *range(room, len(alike))])
        for index in reported:
            place = offsets[index]
            handed.report(index, -1 if place is None else place[1], None if place else TIMED_OUT)
        return await batch.done

    return told(asyncio.run(run()))


def written(alike: Alike, failed: Sequence[int]) -> list[tuple[int, int] | None]:
    """Where the messages lie in truth."""
    following = {number: itertools.count(first) for number, first in FIRST_OFFSETS.items()}
    partitions = Way().partitions_for(alike)
    return [
        None if index in failed else (each, next(following[each])) for index, each in enumerate(partitions)
    ]


def in_order(order: Sequence[int], partitions: Sequence[int]) -> bool:
    """Whether this is how the reports of messages that are all written may come."""
    return all(
        [each for each in order if partitions[each] == number]
        == sorted(each for each in order if partitions[each] == number)
        for number in FIRST_OFFSETS
    )


@pytest.mark.parametrize("keys", ["abc", "aBc", "AAbb", "aAaA", "AbBa"])
def test_partitions_are_reported_in_any_order_and_each_message_gets_its_own_place(keys: str) -> None:
    alike = array(keys)
    partitions = Way().partitions_for(alike)
    orders = [each for each in itertools.permutations(range(len(keys))) if in_order(each, partitions)]
    assert orders
    for order in orders:
        assert outcomes(alike, order) == written(alike, [])


@pytest.mark.parametrize("failed", [None, 3])
@pytest.mark.parametrize("time", [OUR_TIME, KAFKAS_TIME])
def test_each_is_told_the_time_that_its_record_has(time: int, failed: int | None) -> None:
    async def run() -> tuple[list[Outcome], int]:
        batch, handed = AlikeBatch(array("aAbB"), Way()), Handed(time=time)
        batch.hand_over(handed)  # type: ignore[arg-type]
        for index, offset in enumerate([100, 200, 101, 201]):
            handed.report(index, offset, TIMED_OUT if index == failed else None)
        return await batch.done, handed.sent_at

    found, sent_at = asyncio.run(run())
    times = [json.loads(each)["timestamp"] for each in found if not isinstance(each, NotWritten)]
    expected = [sent_at] * 4 if time == OUR_TIME else [7100, 7200, 7101, 7201]
    assert times == (expected if failed is None else expected[:failed])


@pytest.mark.parametrize("failed", [(1,), (2,), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("keys", ["aaaa", "aAaA", "abcd"])
def test_what_failed_is_told_of_the_right_one_though_it_is_reported_before_what_was_sent_earlier(
    keys: str, failed: tuple[int, ...]
) -> None:
    alike = array(keys)
    rest = [index for index in range(4) if index not in failed]
    for before in range(failed[0] + 1):
        order = [*rest[:before], *failed, *rest[before:]]
        assert outcomes(alike, order, failed) == written(alike, failed)


@pytest.mark.parametrize("keys", ["aaaa", "aAaA", "abcd"])
def test_wherever_failures_are_reported_nobody_is_told_a_place_that_is_not_his(keys: str) -> None:
    alike = array(keys)
    partitions = Way().partitions_for(alike)
    for failed in ([1], [0, 2], [3]):
        for order in itertools.permutations(range(4)):
            if in_order([each for each in order if each not in failed], partitions):
                found = outcomes(alike, order, failed)
                assert found in (written(alike, failed), [None] * 4)


def test_of_two_messages_that_are_the_same_each_report_is_taken_once() -> None:
    found = outcomes(array("aaa", "xxy"), [1, 0, 2], failed=[1])
    assert sorted(found[:2], key=str) == [(0, 100), None]
    assert found[2] == (0, 101)


def test_what_the_client_has_no_room_for_is_told_and_the_others_keep_their_places() -> None:
    alike = array("aAbab")
    assert outcomes(alike, [0, 2, 1], room=3) == [*written(alike, [])[:3], None, None]


def test_what_is_given_up_keeps_what_was_reported() -> None:
    async def run() -> AlikeBatch:
        batch, handed = AlikeBatch(array("aAa"), Way()), Handed()
        batch.hand_over(handed)  # type: ignore[arg-type]
        handed.report(0, 100)
        batch.give_up()
        assert told(await batch.done) == [(0, 100), None, None]
        handed.report(1, 200)  # too late for anybody
        handed.report(2, 101)
        return batch

    assert asyncio.run(run()).failed == 2


def test_a_partition_that_is_gone_is_not_the_callers_fault_and_the_message_goes_where_the_client_puts_it() -> (
    None
):
    async def run() -> list[Outcome]:
        way, handed = Way(), Handed()
        batch = AlikeBatch(array("aAb"), way)
        batch.hand_over(handed)  # type: ignore[arg-type]
        handed.report(0, 100)
        handed.report(1, -1, GONE)
        handed.report(2, 101)
        assert [(partition, key) for _, partition, key, _ in way.one_by_one.messages] == [(-1, b"A")]
        way.one_by_one.report(0, 102)
        return await batch.done

    assert told(asyncio.run(run())) == [(0, 100), (0, 102), (0, 101)]


def test_without_a_broker_to_tell_the_partitions_nothing_is_handed_over() -> None:
    async def run() -> list[Outcome]:
        way, handed = Way(), Handed()
        way.knows_partitions = False
        batch = AlikeBatch(array("ab"), way)
        batch.hand_over(handed)  # type: ignore[arg-type]
        assert not handed.messages
        return await batch.done

    found = asyncio.run(run())
    assert [each.status for each in found if isinstance(each, NotWritten)] == [503, 503]
    assert LATE not in found


def test_where_kafka_does_not_say_the_offset_it_is_told_as_null() -> None:
    async def run() -> list[Outcome]:
        batch, handed = AlikeBatch(array("aAb"), Way()), Handed()
        batch.hand_over(handed)  # type: ignore[arg-type]
        for index, offset in enumerate(
            [100, -1, 101]
        ):  # the second was written by an earlier attempt, long ago
            handed.report(index, offset)
        return await batch.done

    assert told(asyncio.run(run())) == [(0, 100), (1, None), (0, 101)]
