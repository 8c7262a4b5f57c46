"""A meter that tells its registers in messages of several kinds: none of them makes another be left out."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strom.domain.load_profile import Sample
from strom.domain.segments import Quality
from strom.domain.slots import SLOT_MS
from strom.domain.thinning import LONGEST_MS, MOST_KINDS, Kind, Meter, Thinning
from tests.domain.thinned import SECOND, START, Push, kept_of, kind_of, quarter_hours, thinned

SECONDS = 3600


class Stream(NamedTuple):
    """Messages of one kind that come at a steady step."""

    step_ms: int
    phase_ms: int
    counter: bool = False
    power: bool = False
    more: tuple[str, ...] = ()

    def pushes(self, mwh_per_s: int = 0, watts: Sequence[int] = (500,)) -> list[Push]:
        """The counter grows steadily, the power takes its levels in turn, each for four seconds."""
        found = []
        for at in range(START + self.phase_ms, START + SECONDS * SECOND, self.step_ms):
            counter = (at - START) * mwh_per_s // SECOND if self.counter else None
            power = watts[(at - START) // 4_000 % len(watts)] if self.power else None
            sample = Sample(at, counter=counter, power=power)
            found.append(Push(kind_of(sample, *self.more), sample))
        return found


def merged(streams: Sequence[Stream], mwh_per_s: int = 0, watts: Sequence[int] = (500,)) -> list[Push]:
    found = [push for stream in streams for push in stream.pushes(mwh_per_s, watts)]
    return sorted(found, key=lambda push: push.sample.at)


def samples(pushes: Sequence[Push]) -> list[Sample]:
    return [push.sample for push in pushes]


def counters(pushes: Sequence[Push]) -> list[int]:
    return [push.sample.at for push in pushes if push.sample.counter is not None]


SHELLY = [Stream(3_000, 0, power=True, more=("voltage_l1_v",)), Stream(60_000, 40_000, counter=True)]
ALONE = [
    Stream(5_000, 0, more=("voltage_l1_v",)),
    Stream(5_000, 10, power=True),
    Stream(5_000, 20, counter=True),
]


def test_counters_that_come_once_a_minute_beside_power_all_go_on() -> None:
    pushes = merged(SHELLY, mwh_per_s=200)
    assert counters(kept_of(pushes, Thinning(15 * SECOND))) == counters(pushes)


def test_of_registers_that_come_alone_each_is_thinned_by_itself() -> None:
    kept = kept_of(merged(ALONE, mwh_per_s=200), Thinning(15 * SECOND))
    first = [push for push in kept if push.sample.at < START + 60 * SECOND]
    assert len({push.kind for push in first}) == len(ALONE)
    assert len(first) == 4 * len(ALONE)


def test_power_is_thinned_by_time_once_a_message_of_another_kind_has_told_the_counter() -> None:
    power = [Sample(START + number * 5 * SECOND, power=number) for number in range(6)]
    counter = Sample(START + 2 * SECOND, counter=1000)
    assert thinned(power, Thinning(60 * SECOND)) == power
    assert thinned([power[0], counter, *power[1:]], Thinning(60 * SECOND)) == [power[0], counter]


def test_the_counter_of_one_direction_does_not_count_for_the_other() -> None:
    meter, thinning = Meter(), Thinning(60 * SECOND)
    assert thinning.goes_on(meter, Kind.of(["import_wh"]), START, 1)
    exported = Kind.of(["export_w"])
    assert [thinning.goes_on(meter, exported, START + at, at) for at in (1000, 2000, 3000)] == [True] * 3


def test_what_another_kind_has_changed_since_is_told_anew() -> None:
    """Else the last power that arrived would be 200, and be held."""
    alone = [Sample(START + second * SECOND, power=100) for second in (0, 10)]
    other = Sample(START + 5 * SECOND, power=200)
    pushes = [
        Push(kind_of(alone[0]), alone[0]),
        Push(kind_of(other, "voltage_l1_v"), other),
        Push(kind_of(alone[1]), alone[1]),
    ]
    assert kept_of(pushes, Thinning(on_change=True)) == pushes


def test_a_kind_that_tells_other_registers_takes_no_part_in_what_is_a_change() -> None:
    voltage = Kind.of(["voltage_l1_v"])
    power = [Sample(START + second * SECOND, power=100) for second in (0, 10)]
    pushes = [
        Push(kind_of(power[0]), power[0]),
        Push(voltage, Sample(START + 5 * SECOND)),
        Push(kind_of(power[1]), power[1]),
    ]
    assert kept_of(pushes, Thinning(on_change=True)) == pushes[:2]


def test_names_without_a_field_of_their_own_are_kinds_too() -> None:
    assert Kind.of(["meter", "at"], ["1-0:21.7.0"]) != Kind.of(["meter", "at"], ["1-0:41.7.0"])
    assert Kind.of(["meter", "at"], ["b", "a"]) == Kind.of(["at"], ["a", "b"])


def test_of_a_meter_that_invents_kinds_a_bounded_number_is_remembered() -> None:
    meter, thinning = Meter(), Thinning(60 * SECOND)
    for number in range(3 * MOST_KINDS):
        assert thinning.goes_on(meter, Kind.of([], [str(number)]), START, 1)
        assert len(meter.traces) <= MOST_KINDS


STEPS_MS = st.sampled_from([1_000, 2_000, 3_000, 5_000, 7_000, 14_500, 30_000, 60_000])
WINDOWS = st.tuples(st.none() | st.integers(1, LONGEST_MS // SECOND), st.booleans())


def streams(kinds: Sequence[dict[str, object]]) -> st.SearchStrategy[list[Stream]]:
    """One stream of each of some of these kinds, each with a step and a phase of its own; of the first always."""
    each = [
        st.builds(
            lambda step, phase, kind=kind: Stream(step, phase % step, **kind),
            STEPS_MS,
            st.integers(0, SLOT_MS),
        )
        for kind in kinds
    ]
    return st.tuples(each[0], *(st.none() | one for one in each[1:])).map(
        lambda found: [s for s in found if s]
    )


WITH_COUNTERS = streams(
    [
        {"counter": True},
        {"power": True},
        {"counter": True, "power": True},
        {"counter": True, "more": ("export_wh",)},
        {"more": ("voltage_l1_v",)},
    ]
)
WITHOUT = streams([{"power": True}, {"power": True, "more": ("voltage_l1_v",)}, {"more": ("voltage_l1_v",)}])


@given(streams=WITH_COUNTERS, window=WINDOWS, mwh_per_s=st.integers(0, 2_000))
@settings(max_examples=60)
def test_the_counters_on_both_sides_of_each_border_go_on_and_quarter_hours_stay_as_they_are(
    streams: list[Stream], window: tuple[int | None, bool], mwh_per_s: int
) -> None:
    pushes = merged(streams, mwh_per_s, watts=(300, 300, 700))
    kept = kept_of(pushes, thinning(window))
    for border in range(START + SLOT_MS, START + SECONDS * SECOND, SLOT_MS):
        before = [at for at in counters(pushes) if at < border]
        after = [at for at in counters(pushes) if at >= border]
        assert {max(before), min(after)} <= {*counters(kept)}
    assert quarter_hours(samples(kept)) == quarter_hours(samples(pushes))
    assert {quality for _, _, quality in quarter_hours(samples(kept))} == {Quality.MEASURED}


@given(
    streams=WITHOUT, window=WINDOWS, watts=st.lists(st.sampled_from([0, 100, 200]), min_size=1, max_size=5)
)
@settings(max_examples=60)
def test_quarter_hours_summed_up_from_power_of_several_kinds_stay_as_they_are(
    streams: list[Stream], window: tuple[int | None, bool], watts: list[int]
) -> None:
    pushes = merged(streams, watts=watts)
    kept = kept_of(pushes, thinning(window))
    assert quarter_hours(samples(kept)) == quarter_hours(samples(pushes))


def thinning(window: tuple[int | None, bool]) -> Thinning:
    every_s, on_change = window
    return Thinning(None if every_s is None else every_s * SECOND, on_change=on_change)


@pytest.mark.parametrize(("streams", "share"), [(SHELLY, 0.26), (ALONE, 0.36)])
def test_thinning_thins_each_kind(streams: list[Stream], share: float) -> None:
    pushes = merged(streams, mwh_per_s=200)
    assert len(kept_of(pushes, Thinning(15 * SECOND))) <= share * len(pushes)


def test_a_meter_that_no_longer_tells_its_counter_keeps_the_power_that_is_summed_up_instead() -> None:
    thinning, meter = Thinning(15_000), Meter()
    both, power = Kind.of(["import_wh", "import_w"]), Kind.of(["import_w"])
    assert thinning.goes_on(meter, both, START, 1)
    silent = [
        thinning.goes_on(meter, power, at, at) for at in range(START + SECOND, START + 2 * SLOT_MS, SECOND)
    ]
    assert not all(silent[:60])  # the counter has been told of late
    assert all(silent[SLOT_MS // SECOND :])
