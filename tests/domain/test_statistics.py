"""Bands of power and voltage as they are shown."""

from decimal import Decimal

from strom.domain.statistics import Band, shown


def test_what_was_never_told_is_not_shown_and_means_are_rounded_half_up() -> None:
    assert shown({"export_w": Band.of([1000, 2000, 2001])}) == {
        "export_w_min": Decimal(1),
        "export_w_mean": Decimal("1.667"),
        "export_w_max": Decimal("2.001"),
    }
    assert Band.of([1, 2]).mean == Decimal("0.002")
