"""What is known of a meter with a reading more: a pure function, whatever the order."""

import pytest

from strom.pipeline.latest import _seen, next_state
from strom.pipeline.process.arrived import ArrivalCell
from strom.store.meter_tables import Latest, MeterState, Seen


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


@pytest.mark.parametrize(
    ("old", "received", "heard"),
    [(None, 7_000, 7_000), (None, 90_000, 20_000), (9_000, 90_000, 20_000), (9_000, 8_000, 9_000)],
)
def test_a_meter_was_not_heard_later_than_its_messages_were_taken_in(
    old: int | None, received: int, heard: int
) -> None:
    before = None if old is None else MeterState(1_000, old, None, 0, old)
    cell = ArrivalCell(0, 6_000, 6_000, 1, received, received, None, received, False)
    after = next_state(before, [cell], 20_000)
    assert (after.received, after.heard) == (max(received, old or 0), heard)
