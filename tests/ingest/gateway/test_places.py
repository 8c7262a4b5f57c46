"""Places in topics as callers write them."""

from typing import Any

import pytest

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.places import Place, read_places, read_timeout


def refusal(body: Any, *, offsets: bool = True) -> str:
    with pytest.raises(Problem) as caught:
        read_places(body, offsets=offsets, timeout=True)
    assert caught.value.status == 400
    return caught.value.sentence


def test_one_place_a_list_of_them_and_both_together_are_read() -> None:
    one = {"topic": "t", "partition": 1, "offset": 7, "timeout": 5}
    more = [{"topic": "u", "partition": 0, "offset": 0}]
    assert read_places(one, offsets=True, timeout=True) == [Place("", "t", 1, 7)]
    both = read_places(one | {"topicPartitionOffsets": more}, offsets=True, timeout=True)
    assert both == [Place("", "t", 1, 7), Place("topicPartitionOffsets[0]: ", "u", 0, 0)]
    assert read_places(more, offsets=True) == [Place("[0]: ", "u", 0, 0)]
    assert read_places({"topicPartitions": [{"topic": "t", "partition": 3}]}, offsets=False) == [
        Place("topicPartitions[0]: ", "t", 3, 0)
    ]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "The body names no topic and partition; name one at least."),
        ({}, "The body names no topic and partition; name one at least."),
        (5, "the body must be an object or an array, not 5."),
        ({"topic": "t", "partition": 0}, "offset is missing."),
        ({"topic": "t", "offset": 0}, "partition is missing."),
        ({"partition": 0, "offset": 0}, "topic is missing."),
        ({"topic": "t", "partition": -1, "offset": 0}, "partition is -1, but must be from 0 to"),
        ({"topic": "t", "partition": 0, "offset": -1}, "offset is -1, but must be from 0 to"),
        ({"topic": "t", "partition": 0, "offset": "0"}, 'offset is "0", but must be a whole number.'),
        ({"topicPartitionOffsets": {}}, "topicPartitionOffsets is an object, but must be an array."),
        (
            {"topicPartitionOffsets": [5]},
            "topicPartitionOffsets[0]: a place is an object with topic, partition, offset",
        ),
        ([{"topic": "t", "partition": 0, "offset": 1, "x": 1}], '[0]: "x" is not a property of this'),
        ({"topicPartitions": []}, '"topicPartitions" is not a property of this'),
        (
            [{"topic": "t", "partition": 0, "offset": at} for at in (1, 2)],
            "[1]: t/0 is there twice; name it once.",
        ),
    ],
)
def test_what_is_wrong_with_a_place_is_said(body: Any, sentence: str) -> None:
    assert refusal(body).startswith(sentence)


def test_where_no_offset_is_wanted_one_is_refused() -> None:
    assert "offset" in refusal({"topic": "t", "partition": 0, "offset": 0}, offsets=False)


@pytest.mark.parametrize("timeout", [-1, 60_001, 1.5, "1", None, True])
def test_a_timeout_out_of_bounds_is_refused(timeout: Any) -> None:
    with pytest.raises(Problem):
        read_timeout({"timeout": timeout})


def test_a_timeout_is_a_second_unless_given() -> None:
    assert (read_timeout({}), read_timeout({"timeout": 0})) == (1000, 0)
    with pytest.raises(Problem, match="topic"):
        read_timeout({"topic": "t"}, alone=True)
