"""What is known of a meter with a reading more: a pure function, whatever the order."""

import pytest

from strom.pipeline.latest import _seen
from strom.store.meter_tables import Latest, Seen


def told(number: str | None, at: int | None, first_received: int = 5_000) -> Latest:
    return Latest("m1", 9_000, 9_100, first_received, (), "{}", number, at)


OLD = Seen("old", 1_000, 5, 4_000)


@pytest.mark.parametrize(
    ("old", "reading", "interval", "expected"),
    [
        (None, told("new", 2_000), 60, Seen("new", 2_000, 60, 5_000)),
        (None, told(None, None), None, Seen(None, None, None, 5_000)),
        (OLD, told("new", 2_000), 60, Seen("new", 2_000, 60, 4_000)),
        (OLD, told("late", 500), None, OLD),
        (OLD, told("same time", 1_000), None, Seen("same time", 1_000, 5, 4_000)),
        (OLD, told(None, None, first_received=3_000), None, Seen("old", 1_000, 5, 3_000)),
        (
            Seen(None, None, None, None),
            told("new", 7),
            1,
            Seen("new", 7, 1, 5_000),
        ),  # people entered it before
    ],
)
def test_the_number_is_of_the_newest_reading_that_tells_one(
    old: Seen | None, reading: Latest, interval: int | None, expected: Seen
) -> None:
    assert _seen(old, reading, interval) == expected
