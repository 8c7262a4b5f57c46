"""Local days, also the two odd ones of the year."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest

from strom.errors import StromError
from strom.serve import answers
from strom.serve.days import SLOT, day_of, slots, zone_of

VIENNA = zone_of("Europe/Vienna")


@pytest.mark.parametrize(("day", "count"), [("2026-03-29", 92), ("2026-10-25", 100), ("2026-11-15", 96)])
def test_a_day_has_as_many_quarter_hours_as_the_clock_shows(day: str, count: int) -> None:
    found = slots(date.fromisoformat(day), VIENNA)
    assert len(found) == count
    assert all(later - earlier == SLOT for earlier, later in pairwise(found))


def test_a_day_ends_at_the_local_midnight() -> None:
    assert slots(date(2026, 11, 15), VIENNA)[0] == datetime(2026, 11, 14, 23, tzinfo=UTC)
    assert day_of(datetime(2026, 11, 14, 23, tzinfo=UTC), VIENNA) == date(2026, 11, 15)


def test_an_unknown_zone_is_refused_by_name() -> None:
    with pytest.raises(StromError, match="Europe/Wien"):
        zone_of("Europe/Wien")


def test_a_slot_without_a_row_is_empty_and_the_present_one_is_in_progress() -> None:
    now = datetime(2026, 11, 15, 10, 7, tzinfo=UTC)
    rows = [{"start": datetime(2026, 11, 15, 9, 45, tzinfo=UTC), "import_wh": 12.5, "quality": "measured"}]
    day = answers.day(date(2026, 11, 15), VIENNA, now, rows, rows[0]["start"])  # type: ignore[arg-type]
    by_start = {slot.start: slot for slot in day.slots}
    assert by_start[datetime(2026, 11, 15, 9, 45, tzinfo=UTC)].import_wh == 12.5
    assert by_start[datetime(2026, 11, 15, 9, 30, tzinfo=UTC)].quality is None
    assert by_start[datetime(2026, 11, 15, 10, 0, tzinfo=UTC)].in_progress
    assert by_start[datetime(2026, 11, 15, 10, 15, tzinfo=UTC)].future
    assert day.import_wh == 12.5
    assert day.export_wh is None
