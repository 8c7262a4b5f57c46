"""Readings may be left out, quarter-hours may not change: by example, and over random histories."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strom.domain.load_profile import Sample
from strom.domain.segments import Quality
from strom.domain.slots import SLOT_MS
from strom.domain.thinning import LONGEST_MS, Thinning
from tests.domain.thinned import SECOND, START, quarter_hours, thinned


def pushes(step_s: float, seconds: int = 3600, phase_ms: int = 0, wh_per_push: float = 1) -> list[Sample]:
    count = int(seconds / step_s)
    return [
        Sample(
            START + phase_ms + round(number * step_s * SECOND),
            counter=1000 * int(number * wh_per_push),
            power=500,
        )
        for number in range(count + 1)
    ]


def seconds_of(samples: list[Sample]) -> list[float]:
    return [(sample.at - START) / SECOND for sample in samples]


def test_of_each_window_the_first_reading_goes_on_and_those_before_a_border() -> None:
    kept = thinned(pushes(5, seconds=900), Thinning(15 * SECOND))
    assert seconds_of(kept) == [*range(0, 900, 15), 890, 895, 900]


def test_windows_that_do_not_fit_into_a_quarter_hour_begin_anew_with_it() -> None:
    kept = seconds_of(thinned(pushes(1, seconds=1800), Thinning(40 * SECOND)))
    assert [second for second in kept if 870 < second < 990] == [880, 898, 899, 900, 940, 980]


def test_on_change_leaves_out_what_repeats_itself_but_not_for_more_than_a_minute() -> None:
    same = [Sample(START + number * 5 * SECOND, counter=1000, power=1) for number in range(40)]
    kept = seconds_of(thinned(same, Thinning(on_change=True)))
    assert kept == [0, 60, 120, 180]
    changing = [Sample(START + number * 5 * SECOND, counter=1000 * number) for number in range(40)]
    assert thinned(changing, Thinning(on_change=True)) == changing


def test_on_change_in_windows_needs_both() -> None:
    samples = [Sample(START + number * 5 * SECOND, counter=1000 * (number // 12)) for number in range(36)]
    kept = seconds_of(thinned(samples, Thinning(15 * SECOND, on_change=True)))
    assert kept == [0, 60, 120]


def test_power_without_a_counter_goes_on_unless_it_repeats_itself() -> None:
    powers = [Sample(START + number * 5 * SECOND, power=[100, 100, 200][number % 3]) for number in range(30)]
    kept = thinned(powers, Thinning(60 * SECOND))
    assert [sample.power for sample in kept] == [100, 200] * 10
    assert quarter_hours(kept) == quarter_hours(powers)


def test_a_reading_out_of_order_goes_on() -> None:
    late = Sample(START + 7 * SECOND, counter=1)
    samples = [*pushes(5, seconds=60), late]
    assert late in thinned(samples, Thinning(60 * SECOND))


def test_a_redelivered_reading_does_not_go_on_twice() -> None:
    first = pushes(5, seconds=0)[0]
    assert thinned([first, first], Thinning(15 * SECOND)) == [first]


@given(
    step_s=st.sampled_from([1, 2, 5, 7, 10, 14.5, 30, 60]),
    phase_ms=st.integers(0, SLOT_MS),
    every_s=st.none() | st.integers(1, LONGEST_MS // SECOND),
    on_change=st.booleans(),
    wh_per_push=st.floats(0, 10),
)
@settings(max_examples=60)
def test_quarter_hours_stay_as_they_are_and_measured(
    step_s: float, phase_ms: int, every_s: int | None, on_change: bool, wh_per_push: float
) -> None:
    samples = pushes(step_s, phase_ms=phase_ms, wh_per_push=wh_per_push)
    thinning = Thinning(None if every_s is None else every_s * SECOND, on_change=on_change)
    kept = thinned(samples, thinning)
    assert quarter_hours(kept) == quarter_hours(samples)
    assert {quality for _, _, quality in quarter_hours(kept)} <= {Quality.MEASURED}


@given(seed=st.integers(), every_s=st.integers(1, 30))
@settings(max_examples=30)
def test_readings_at_irregular_moments_give_borders_that_are_exact_too(seed: int, every_s: int) -> None:
    draw = Random(seed)
    samples, at, counter = [], START + draw.randrange(SLOT_MS), 0
    for _ in range(300):
        samples.append(Sample(at, counter=counter))
        at, counter = at + draw.randrange(500, 15_000), counter + draw.randrange(5_000)
    kept = thinned(samples, Thinning(every_s * SECOND))
    assert {row[2] for row in quarter_hours(kept)} == {Quality.MEASURED}
    assert [row[0] for row in quarter_hours(kept)] == [row[0] for row in quarter_hours(samples)]


@pytest.mark.parametrize(("every_s", "share"), [(15, 0.36), (30, 0.19), (60, 0.11)])
def test_thinning_thins(every_s: int, share: float) -> None:
    samples = pushes(5)
    assert len(thinned(samples, Thinning(every_s * SECOND))) <= share * len(samples)
