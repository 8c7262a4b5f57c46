"""Durations as people write them: what is none, or next to none, is refused by its own words."""

import pytest

from strom.durations import duration
from strom.errors import StromError


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("1.5m", 90_000), (" 12h ", 43_200_000), ("2w", 1_209_600_000), ("0.001s", 1)],
)
def test_a_number_and_a_unit_are_a_duration(text: str, ms: int) -> None:
    assert duration(text) == ms


@pytest.mark.parametrize("text", ["", "s", "5", "0s", "0.0d", "-1s", "1,5s", "1 s", "1y"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(StromError, match=r"is no duration; write it as 90s, 30m, 12h, 1d or 2w\."):
        duration(text)


@pytest.mark.parametrize("text", ["0.0001s", "0.0000001m", "5201w", "9" * 400 + "s"])
def test_what_no_clock_can_tell_is_refused(text: str) -> None:
    with pytest.raises(StromError, match=r"is too short or too long; choose from 0\.001s to 5200w\."):
        duration(text)


def test_a_range_of_its_own_is_told_in_its_own_words() -> None:
    assert duration("15s", "1s", "1m") == 15_000
    with pytest.raises(StromError, match=r"'2m' is too short or too long; choose from 1s to 1m\."):
        duration("2m", "1s", "1m")
