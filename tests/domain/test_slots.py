"""Quarter-hours and local days."""

from datetime import date

import pytest

from strom.domain.slots import SLOT_MS, day_slots, expected_samples, slot_of


@pytest.mark.parametrize(
    ("day", "slots"), [(date(2026, 3, 28), 96), (date(2026, 3, 29), 92), (date(2026, 10, 25), 100)]
)
def test_a_local_day_has_as_many_slots_as_the_clock_gives_it(day: date, slots: int) -> None:
    assert len(day_slots(day, "Europe/Vienna")) == slots


def test_a_reading_at_a_border_belongs_to_the_slot_that_begins_there() -> None:
    assert [slot_of(SLOT_MS - 1), slot_of(SLOT_MS), slot_of(SLOT_MS + 1)] == [0, SLOT_MS, SLOT_MS]


@pytest.mark.parametrize(("interval", "samples"), [(1, 900), (5, 180), (900, 1), (3600, 1), (None, None)])
def test_a_slot_expects_what_the_push_interval_gives(interval: float | None, samples: int | None) -> None:
    assert expected_samples(interval) == samples
