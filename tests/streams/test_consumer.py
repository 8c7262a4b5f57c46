"""Reading records back: from anywhere, to the end, alone or as a group."""

import threading
from collections.abc import Callable

import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.admin import ensure_contract_topics
from strom.streams.inventory import topic_states
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST, LATEST, Kind, Start
from strom.streams.topics import CONTRACT, MAX_MESSAGE_BYTES
from tests.streams.writing import topic_of, write

pytestmark = pytest.mark.stack

Unique = Callable[[str], str]


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


def values(settings: Settings, topic: str, start: Start, group: str | None = None) -> list[bytes | None]:
    with Records(settings, [topic], start=start, until_end=True, group=group) as records:
        return [record.value for record in records]


def test_a_record_comes_back_as_it_was_written(stack: Settings, topic: str) -> None:
    write(stack, topic, b"\x00\xff", partition=1, at_ms=1_794_773_700_000)
    with Records(stack, [topic], start=EARLIEST, count=1) as records:
        found = list(records)
    expected = Record(topic, 1, 0, b"k0", b"\x00\xff", (("strom-source", b"test"),), 1_794_773_700_000)
    assert found == [expected]
    assert found[0].header("strom-source") == "test"
    assert found[0].header("strom-topic") is None


def test_reading_begins_where_it_is_told_to(stack: Settings, topic: str) -> None:
    write(stack, topic, b"a", b"b", b"c", b"d", at_ms=1000)
    assert values(stack, topic, EARLIEST) == [b"a", b"b", b"c", b"d"]
    assert values(stack, topic, LATEST) == []
    assert values(stack, topic, Start(Kind.OFFSET, 2)) == [b"c", b"d"]
    assert values(stack, topic, Start(Kind.OFFSET, 99)) == []
    assert values(stack, topic, Start(Kind.OFFSET, -1)) == [b"d"]
    assert values(stack, topic, Start(Kind.OFFSET, -99)) == [b"a", b"b", b"c", b"d"]
    assert values(stack, topic, Start(Kind.TIME, 1002)) == [b"c", b"d"]
    assert values(stack, topic, Start(Kind.TIME, 5000)) == []


def test_a_group_goes_on_after_the_last_record_that_was_done(
    stack: Settings, topic: str, unique: Unique
) -> None:
    group = unique("g")
    write(stack, topic, b"a", b"b", b"c")
    with Records(stack, [topic], start=EARLIEST, group=group, count=2) as records:
        assert [record.value for record in records] == [b"a", b"b"]
    assert values(stack, topic, EARLIEST, group) == [b"c"]
    assert values(stack, topic, EARLIEST, group) == []


def test_a_record_whose_work_failed_comes_again(stack: Settings, topic: str, unique: Unique) -> None:
    group = unique("g")
    write(stack, topic, b"a", b"b")
    with Records(stack, [topic], start=EARLIEST, group=group) as records:
        for record in records:
            if record.value == b"b":
                break
    assert values(stack, topic, EARLIEST, group) == [b"b"]


def test_a_pattern_finds_topics_and_an_empty_one_says_so(stack: Settings, unique: Unique) -> None:
    prefix = unique("p")
    for name in ("one", "two"):
        write(stack, topic_of(stack, f"{prefix}.{name}"), name.encode())
    with Records(stack, pattern=f"{prefix}[.].*", start=EARLIEST, until_end=True) as records:
        assert {record.value for record in records} == {b"one", b"two"}
    with pytest.raises(StromError, match="No topic at"):
        Records(stack, pattern=prefix, until_end=True)
    with pytest.raises(StromError, match="not a regular expression"):
        Records(stack, pattern="(")


def test_a_reader_that_waits_can_be_stopped(stack: Settings, topic: str) -> None:
    with Records(stack, [topic]) as records:
        threading.Timer(0.1, records.stop).start()
        assert list(records) == []


def test_the_contracts_topics_are_made_once_and_as_the_contract_says(stack: Settings) -> None:
    assert ensure_contract_topics(stack) == []
    states = {state.name: state for state in topic_states(stack)}
    for topic in CONTRACT:
        state = states[topic.name]
        assert len(state.partitions) == (topic.partitions or stack.kafka.partitions)
        assert state.compacted == topic.compacted
        assert state.config["max.message.bytes"] == str(MAX_MESSAGE_BYTES + topic.more_bytes)
        if not topic.compacted:
            assert state.retention_ms == stack.kafka.retention_hours * 3_600_000


def test_records_are_counted_by_partition(stack: Settings, topic: str) -> None:
    write(stack, topic, b"a", b"b", partition=1)
    (state,) = topic_states(stack, [topic])
    assert [each.records for each in state.partitions] == [0, 2]
    assert state.records == 2
