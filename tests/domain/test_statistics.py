"""Bands of power and voltage as they are shown."""

from decimal import Decimal

import pytest

from strom.domain.reading import plain_number, plain_thousandths
from strom.domain.statistics import Band, shown


def test_what_was_never_told_is_not_shown_and_means_are_rounded_half_up() -> None:
    assert shown({"export_w": Band.of([1000, 2000, 2001])}) == {
        "export_w_min": 1000,
        "export_w_mean": 1667,
        "export_w_max": 2001,
    }
    assert Band.of([1, 2]).mean == 2


def test_half_is_rounded_away_from_zero() -> None:
    assert Band.of([-1, -2]).mean == -2
    assert Band.of([-1, -1, -2]).mean == -1


@pytest.mark.parametrize("value", [0, 1, -1, 1000, -2000, 230_100, -1_500, 123_456_789_012_345_678, 10**17])
def test_thousandths_are_shown_as_the_number_they_are(value: int) -> None:
    expected = plain_number(Decimal(value).scaleb(-3))
    assert (plain_thousandths(value), type(plain_thousandths(value))) == (expected, type(expected))
