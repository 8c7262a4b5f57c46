"""Bands of power and voltage: the same for any way to cut the readings into parts."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from strom.domain.statistics import Band, merged, shown

values = st.lists(st.integers(-(10**18), 10**18), min_size=1, max_size=20)


@given(values, values)
def test_parts_add_up_to_the_whole(one: list[int], other: list[int]) -> None:
    assert Band.of(one) + Band.of(other) == Band.of(one + other)


def test_a_quantity_that_only_one_part_tells_is_kept() -> None:
    one, other = {"import_w": Band.of([1, 3])}, {"import_w": Band.of([5]), "export_w": Band.of([7])}
    assert merged(one, other) == {"import_w": Band.of([1, 3, 5]), "export_w": Band.of([7])}
    assert merged({}, other) == other


def test_what_was_never_told_is_not_shown_and_means_are_rounded_half_up() -> None:
    assert shown({"export_w": Band.of([1000, 2000, 2001])}) == {
        "export_w_min": Decimal(1),
        "export_w_mean": Decimal("1.667"),
        "export_w_max": Decimal("2.001"),
    }
    assert Band.of([1, 2]).mean == Decimal("0.002")
