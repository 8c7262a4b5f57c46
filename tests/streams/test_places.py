"""Records are found again by their place; one that is gone is left out."""

from collections.abc import Callable, Iterator

import pytest

from strom.settings import Settings
from strom.streams.places import Places
from tests.streams.writing import topic_of, write

pytestmark = pytest.mark.stack


@pytest.fixture
def places(stack: Settings, unique: Callable[[str], str]) -> Iterator[Places]:
    topic = topic_of(stack, unique("places"))
    write(stack, topic, *(b"zero %d" % number for number in range(5)), partition=0)
    write(stack, topic, b"one", partition=1)
    reading = Places(stack, topic)
    yield reading
    reading.close()


def test_records_come_in_the_order_in_which_they_are_asked_for(places: Places) -> None:
    found = [record.value for record in places.records([(0, 3), (1, 0), (0, 0), (0, 4)])]
    assert found == [b"zero 3", b"one", b"zero 0", b"zero 4"]
    assert [record.value for record in places.records([(0, 1)])] == [b"zero 1"]


def test_what_is_not_there_is_left_out(places: Places) -> None:
    assert [record.value for record in places.records([(0, 5), (1, 0), (1, 99)])] == [b"one"]
