"""A large value becomes parts and one again, whatever happens to the parts on their way."""

import hashlib
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.streams.assembler import Assembler, Trouble, Why
from strom.streams.chunks import BadPartsError, Part, join, parse_part, split

VALUE = bytes(range(256)) * 4
HERE = ("t", 0)


class Gathering:
    """An assembler with its troubles; parts come one after the other, each at the next offset."""

    def __init__(self, most_bytes: int = 10_000, most_messages: int = 10, wait_seconds: float = 60.0) -> None:
        self.troubles: list[Trouble] = []
        self.offset = -1
        self.assembler = Assembler(
            most_bytes=most_bytes,
            most_messages=most_messages,
            wait_seconds=wait_seconds,
            on_trouble=self.troubles.append,
        )

    def add(self, part: tuple[Part, bytes], now: float = 0.0, place: tuple[str, int] = HERE) -> bytes | None:
        self.offset += 1
        return self.assembler.add(place, self.offset, *part, now)

    @property
    def why(self) -> list[Why]:
        return [trouble.why for trouble in self.troubles]


@given(st.binary(max_size=300), st.integers(1, 100), st.randoms(use_true_random=False))
def test_parts_in_any_order_and_repeated_become_the_value(
    value: bytes, limit: int, chance: random.Random
) -> None:
    parts = split(value, limit)
    assert all(len(piece) <= limit for _, piece in parts)
    assert [part.index for part, _ in parts] == list(range(len(parts)))
    several = parts + chance.choices(parts, k=3)
    chance.shuffle(several)
    assert join(several) == value


def test_a_part_says_its_id_index_count_and_the_digest_of_the_whole() -> None:
    parts = split(VALUE, 500)
    texts = [part.header.decode().split("/") for part, _ in parts]
    assert [text[1:3] for text in texts] == [["0", "3"], ["1", "3"], ["2", "3"]]
    assert {text[3] for text in texts} == {hashlib.sha256(VALUE).hexdigest()[:16]}
    assert len({text[0] for text in texts}) == 1
    assert split(VALUE, 500)[0][0].id != parts[0][0].id
    assert [parse_part(part.header) for part, _ in parts] == [part for part, _ in parts]


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "abcdef01/0/2",
        "abcdef01/2/2/0123456789abcdef",
        "abcdef01/0/0/0123456789abcdef",
        "abcdef01/-1/2/0123456789abcdef",
        "abcdef01/00/2/0123456789abcdef",
        "abcdef01/0/2/0123456789abcdef\n",
        "abcdef01/٠/2/0123456789abcdef",
        "ABCDEF01/0/2/0123456789abcdef",
        "abcdef01/0/99999999999999999999/0123456789abcdef",
        b"\xff\xfe/0/2/0123456789abcdef",
    ],
)
def test_what_is_no_part_header_is_none(header: bytes | str | None) -> None:
    assert parse_part(header) is None


@given(st.binary(max_size=80) | st.text(max_size=80))
def test_no_header_makes_the_parser_stumble(header: bytes | str) -> None:
    found = parse_part(header)
    text = header if isinstance(header, str) else header.decode(errors="replace")
    assert found is None or found.header.decode() == text


def test_parts_that_are_not_one_message_are_refused_in_words() -> None:
    parts = split(VALUE, 500)
    (first, piece), (second, _), third = parts
    for bad, words in (
        ([], "no parts"),
        (parts[:2], "1 of 3 parts are missing"),
        ([(first, piece), (second, b"other"), third], "do not fit the digest"),
        ([*parts, (first, b"other")], "part 1 of 3 came twice with other bytes"),
        ([(first, piece), (replace(second, count=4), b"")], "different counts or digests"),
        ([(first, piece), (replace(second, digest="0" * 16), b"")], "different counts or digests"),
    ):
        with pytest.raises(BadPartsError, match=words):
            join(bad)


def test_messages_whose_parts_mingle_come_out_as_each_becomes_whole() -> None:
    gathering = Gathering()
    one, other = split(b"one" * 100, 150), split(b"other" * 60, 150)
    assert gathering.add(one[0]) is None
    assert gathering.assembler.floor(HERE) == 0
    assert gathering.add(other[1]) is None
    assert gathering.add(one[1]) == b"one" * 100
    assert gathering.assembler.floor(HERE) == 1
    assert gathering.add(other[0]) == b"other" * 60
    assert gathering.assembler.floor(HERE) is None
    assert gathering.assembler.room == 0
    assert gathering.assembler.counters.whole == 2


def test_the_same_parts_on_two_partitions_are_two_messages() -> None:
    gathering = Gathering()
    parts = split(VALUE, 600)
    gathering.add(parts[0], place=("t", 0))
    assert gathering.add(parts[1], place=("t", 1)) is None
    assert gathering.add(parts[1], place=("t", 0)) == VALUE
    assert gathering.assembler.floor(("t", 1)) == 1


def test_a_repeated_part_changes_nothing_not_even_after_the_message_was_whole() -> None:
    gathering = Gathering()
    parts = split(VALUE, 500)
    found = [gathering.add(part) for part in (parts[0], parts[0], parts[1], parts[2], *parts)]
    assert [value for value in found if value is not None] == [VALUE]
    assert gathering.assembler.counters.repeated == 4
    assert (gathering.assembler.floor(HERE), gathering.troubles) == (None, [])


def test_mixed_parts_are_told_once_and_never_become_a_value() -> None:
    gathering = Gathering()
    (first, piece), (second, _) = split(VALUE, 600)
    gathering.add((first, piece))
    assert gathering.add((second, b"other bytes")) is None
    assert gathering.add((second, b"other bytes")) is None
    assert gathering.why == [Why.MIXED]
    assert str(gathering.troubles[0]) == (
        "The message in parts at t/0/0 was left out: "
        f"the bytes of its 2 parts do not fit the digest {first.digest}."
    )
    assert (gathering.assembler.room, gathering.assembler.floor(HERE)) == (0, None)


def test_a_part_that_tells_another_count_spoils_its_message() -> None:
    gathering = Gathering()
    (first, piece), (second, _) = split(VALUE, 600)
    gathering.add((first, piece))
    gathering.add((replace(second, count=7), b""))
    assert gathering.why == [Why.MIXED]


def test_the_oldest_makes_room_when_there_are_too_many_bytes() -> None:
    gathering = Gathering(most_bytes=2000)
    messages = [split(bytes([number]) * 1000, 600) for number in range(4)]
    for parts in messages:
        gathering.add(parts[0])
        assert gathering.assembler.room <= 2000
    assert gathering.why == [Why.NO_ROOM, Why.NO_ROOM]
    assert [trouble.first_offset for trouble in gathering.troubles] == [0, 1]
    assert gathering.add(messages[0][1]) is None  # a straggler of one that was given up begins nothing anew
    assert gathering.add(messages[3][1]) == b"\x03" * 1000


def test_the_oldest_makes_room_when_there_are_too_many_messages_however_small() -> None:
    gathering = Gathering(most_messages=2)
    for number in range(3):
        gathering.add(split(b"ab", 1)[0], place=("t", number))
    assert [(trouble.why, trouble.place) for trouble in gathering.troubles] == [(Why.NO_ROOM, ("t", 0))]


def test_empty_parts_take_room_too() -> None:
    gathering = Gathering(most_bytes=10_000)
    part = Part("0" * 32, 0, 1_000_000, "0" * 16)
    for index in range(100):
        gathering.add((replace(part, index=index), b""))
    assert gathering.why == [Why.NO_ROOM]


def test_one_that_is_larger_than_all_room_is_given_up() -> None:
    gathering = Gathering(most_bytes=1000)
    for part in split(b"x" * 3000, 300):
        assert gathering.add(part) is None
    assert gathering.why == [Why.NO_ROOM]
    assert gathering.assembler.room == 0


def test_what_waits_in_vain_is_told_as_missing() -> None:
    gathering = Gathering(wait_seconds=60)
    parts = split(VALUE, 300)
    gathering.add(parts[0], now=0)
    gathering.add(parts[2], now=50)
    gathering.assembler.expire(now=109)
    assert gathering.troubles == []
    gathering.assembler.expire(now=111)
    assert "2 of its 4 parts did not come" in str(gathering.troubles[0])
    assert (gathering.troubles[0].first_offset, gathering.troubles[0].last_offset) == (0, 1)
    assert gathering.assembler.floor(HERE) is None


def test_at_the_end_all_that_is_unfinished_is_told() -> None:
    gathering = Gathering()
    gathering.add(split(VALUE, 300)[0])
    gathering.add(split(VALUE, 300)[0], place=("t", 1))
    gathering.assembler.finish()
    assert gathering.why == [Why.MISSING, Why.MISSING]


def test_a_partition_that_is_read_anew_begins_anew() -> None:
    gathering = Gathering()
    parts = split(VALUE, 600)
    assert [gathering.add(part) for part in parts][-1] == VALUE
    gathering.add(split(VALUE, 600)[0])
    gathering.assembler.forget(HERE)
    assert (gathering.assembler.floor(HERE), gathering.assembler.room) == (None, 0)
    assert [gathering.add(part) for part in parts][-1] == VALUE
    assert gathering.troubles == []


@given(st.randoms(use_true_random=False))
def test_whatever_comes_in_whatever_order_only_true_values_come_out_within_bounds(
    chance: random.Random,
) -> None:
    gathering = Gathering(most_bytes=4000, most_messages=5)
    values = [chance.randbytes(chance.randrange(900)) for _ in range(12)]
    parts = [(part, piece) for value in values for part, piece in split(value, chance.choice((100, 400)))]
    parts += chance.choices(parts, k=10)
    parts += [(part, b"spoilt") for part, _ in chance.choices(parts, k=2)]
    chance.shuffle(parts)
    for part in parts:
        found = gathering.add(part, place=("t", chance.randrange(2)))
        assert found is None or found in values
        assert gathering.assembler.room <= 4000
