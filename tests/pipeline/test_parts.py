"""Parts of large messages: when one is whole, what can never be, and that a repeat changes nothing."""

import json
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.pipeline import parts as module
from strom.pipeline.parts import Bad, Outcome, Parts, Seen, Whole

ROOM = 1_000_000
DIGEST = "0123456789abcdef"


def seen(index: int = 0, of: int = 3, **fields: Any) -> Seen:
    """A part of the message `message`; its place in both topics is `at`, its arrival goes by that."""
    at, message = fields.pop("at", index), fields.pop("message", "aaaaaaaa")
    defaults: dict[str, Any] = {
        "partition": 0,
        "offset": at,
        "raw_partition": 0,
        "raw_offset": at,
        "received_ms": at,
        "at_ms": at,
        "part": f"{message}/{index}/{of}/{fields.pop('digest', DIGEST)}",
        "key": 7,
        "bytes": index,
        "size": 10,
        "redriven": False,
    }
    return Seen(**(defaults | fields))


def taken(parts: Parts, *given: Seen) -> list[Outcome]:
    return [outcome for each in given for outcome in parts.take(each)]


def test_a_message_is_whole_with_the_part_that_came_last_in_whatever_order() -> None:
    three, one, two = seen(2, at=0), seen(0, at=5), seen(1, at=9)
    assert taken(Parts(ROOM, 100), three, one, two) == [Whole((one, two, three), two)]


def test_a_message_of_one_part_is_whole_at_once() -> None:
    assert taken(Parts(ROOM, 100), seen(0, of=1)) == [Whole((seen(0, of=1),), seen(0, of=1))]


def test_messages_may_be_interleaved_and_the_last_parts_come_in_order() -> None:
    names = ("aaaaaaaa", "bbbbbbbb")
    given = [
        seen(index, at=2 * index + place, message=name)
        for index in range(3)
        for place, name in enumerate(names)
    ]
    outcomes = taken(Parts(ROOM, 100), *given)
    assert [outcome.last.raw_offset for outcome in outcomes if isinstance(outcome, Whole)] == [4, 5]


def test_the_same_id_in_another_partition_is_another_message() -> None:
    assert taken(Parts(ROOM, 100), seen(0, of=2), seen(1, of=2, raw_partition=1)) == []


@pytest.mark.parametrize("again", range(3))
def test_what_normalise_passes_on_again_from_anywhere_changes_nothing(again: int) -> None:
    parts = Parts(ROOM, 100)
    sent = [seen(index) for index in range(3)]
    assert len(taken(parts, *sent)) == 1
    assert taken(parts, *(each._replace(offset=10 + each.offset) for each in sent[again:])) == []
    assert parts.overdue(10**9) == []


def test_of_a_raw_topic_that_was_made_anew_low_offsets_are_new() -> None:
    parts = Parts(ROOM, 100)
    taken(parts, *(seen(index, at=100 + index, message="bbbbbbbb") for index in range(3)))
    anew = [seen(index, received_ms=1000 + index) for index in range(3)]
    assert [type(each) for each in taken(parts, *anew)] == [Whole]


def test_a_part_that_was_sent_once_more_is_left_out_before_and_after_the_message_is_whole() -> None:
    parts = Parts(ROOM, 100)
    outcomes = taken(
        parts, seen(0), seen(0, at=1), seen(1, at=2), seen(2, at=3), seen(2, at=4), seen(0, at=5)
    )
    assert outcomes == [Whole((seen(0), seen(1, at=2), seen(2, at=3)), seen(2, at=3))]
    assert parts.overdue(10**9) == []


def test_what_is_redriven_after_the_message_was_whole_begins_it_anew() -> None:
    parts = Parts(ROOM, 100)
    taken(parts, *(seen(index) for index in range(3)))
    again = [seen(index, at=10 + index, redriven=True) for index in range(3)]
    assert taken(parts, *again) == [Whole(tuple(again), again[-1])]


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (seen(1, of=4, at=2), "different numbers of parts"),
        (seen(2, at=2, digest="f" * 16), "or digests"),
        (seen(0, at=2, bytes=99), "part 1 of 3 came twice with other bytes"),
        (seen(2, at=2, key=8), "different keys"),
        (seen(2, at=2, size=ROOM - 19), "larger than 1,000,000 bytes"),
    ],
)
def test_parts_that_do_not_fit_are_given_up_with_all_the_others(odd: Seen, why: str) -> None:
    parts = Parts(ROOM, 100)
    (bad,) = taken(parts, seen(0), seen(1), odd)
    assert isinstance(bad, Bad)
    assert bad.parts == (seen(0), seen(1), odd)
    assert why in bad.why
    assert parts.overdue(10**9) == []


@pytest.mark.parametrize(
    "header", ["", "x", "aaaaaaaa/3/3/0123456789abcdef", "aaaaaaaa/0/0/0123456789abcdef"]
)
def test_a_header_that_no_part_has_is_bad_alone(header: str) -> None:
    (bad,) = taken(Parts(ROOM, 100), seen(0)._replace(part=header))
    assert isinstance(bad, Bad)
    assert bad.parts == (seen(0)._replace(part=header),)


def test_without_room_the_oldest_message_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PARTS", 3)
    names = ("aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd")
    outcomes = taken(Parts(ROOM, 100), *(seen(0, at=place, message=name) for place, name in enumerate(names)))
    assert outcomes == [
        Bad((seen(0, message=names[0]),), "2 of 3 parts did not come when there was no room for more")
    ]


def test_no_more_messages_than_allowed_lack_parts() -> None:
    names = ("aaaaaaaa", "bbbbbbbb")
    outcomes = taken(Parts(ROOM, 1), *(seen(0, at=place, message=name) for place, name in enumerate(names)))
    assert [outcome.parts for outcome in outcomes] == [(seen(0, message=names[0]),)]


def test_what_has_waited_too_long_since_its_last_part_is_given_up() -> None:
    parts = Parts(ROOM, 100)
    taken(parts, seen(0, at=100), seen(0, at=150, message="bbbbbbbb"), seen(1, at=200))
    assert parts.overdue(150) == []
    assert parts.give_up(parts.overdue(200)) == [
        Bad((seen(0, at=150, message="bbbbbbbb"),), "2 of 3 parts did not come")
    ]
    assert len(parts.overdue(201)) == 1


sent_parts = st.lists(
    st.tuples(st.sampled_from(["aaaaaaaa", "bbbbbbbb", "cccccccc"]), st.integers(0, 2), st.integers(0, 1)),
    max_size=30,
)


@given(sent_parts, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4), st.data())
def test_however_it_is_cut_and_repeated_each_message_is_whole_once_and_in_order(
    sent: Sequence[tuple[str, int, int]], restarts: Sequence[tuple[int, int]], data: st.DataObject
) -> None:
    """`normalise` starts again at some places and passes on from an earlier one; batches are cut anywhere, and repeated."""
    raw = [
        seen(index, at=at, message=name, raw_partition=part) for at, (name, index, part) in enumerate(sent)
    ]
    expected = taken(Parts(ROOM, 100), *raw)
    on_the_side = _placed(_repeated(raw, restarts))
    found: list[Outcome] = []
    state = Parts(ROOM, 100).as_state()
    while on_the_side:
        size = data.draw(st.integers(1, len(on_the_side)))
        batch, on_the_side = on_the_side[:size], on_the_side[size:]
        for _ in range(
            data.draw(st.integers(1, 2))
        ):  # killed when all was sent, before the state was written
            parts = Parts.of_state(json.loads(json.dumps(state)), ROOM, 100)
            outcomes = taken(parts, *batch)
        found += outcomes
        state = parts.as_state()
    assert [_raw(each) for each in found] == [_raw(each) for each in expected]
    for partition in (0, 1):
        last = [
            each.last.raw_offset
            for each in found
            if isinstance(each, Whole) and each.last.raw_partition == partition
        ]
        assert last == sorted(set(last))


def _repeated(raw: Sequence[Seen], restarts: Iterable[tuple[int, int]]) -> list[Seen]:
    passed_on: list[Seen] = []
    at = 0
    for stop, back in restarts:
        end = max(at, min(stop, len(raw)))
        passed_on += raw[at:end]
        at = min(back, end)
    return passed_on + list(raw[at:])


def _placed(records: Iterable[Seen]) -> list[Seen]:
    """As they stand in the side topic."""
    offsets = count()
    return [each._replace(offset=next(offsets)) for each in records]


def _raw(outcome: Outcome) -> Any:
    places = tuple((each.raw_partition, each.raw_offset) for each in outcome.parts)
    return (type(outcome), places, outcome.last.raw_offset if isinstance(outcome, Whole) else outcome.why)
