"""The live state as a pure object: no socket, the time is told."""

from hypothesis import given
from hypothesis import strategies as st

from strom.domain.reading import Reading
from strom.serve.live import LEAST_POINTS, LiveState
from tests.serve.feeder import reading

NOW = 1_800_000_000.0


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def state_of(*readings: Reading) -> LiveState:
    state = LiveState()
    for each in readings:
        state.add(each)
    return state


def test_the_fleet_is_the_sum_of_its_meters_with_export_taken_off() -> None:
    state = state_of(reading("a", NOW, 1200), reading("b", NOW, -300))
    fleet = state.fleet(ms(NOW + 1))
    assert (fleet.net_w, fleet.import_w, fleet.export_w) == (900, 1200, 300)
    assert (fleet.meters, fleet.live, fleet.drawing, fleet.feeding) == (2, 2, 1, 1)


def test_without_a_meter_there_is_no_number() -> None:
    fleet = LiveState().fleet(ms(NOW))
    assert fleet.net_w is None
    assert fleet.meters == 0


def test_a_reading_that_came_twice_counts_once() -> None:
    state = state_of(reading("a", NOW, 500))
    assert not state.add(reading("a", NOW, 500))
    assert state.readings == 1
    assert state.fleet(ms(NOW + 1)).net_w == 500


def test_a_reading_without_power_changes_no_number_but_is_the_newest() -> None:
    state = state_of(reading("a", NOW, 500))
    plain = {key: value for key, value in reading("a", NOW + 5).items() if not key.endswith("port_w")}
    assert state.add(plain)
    assert state.fleet(ms(NOW + 6)).net_w == 500
    assert state.meters["a"].reading is plain


def test_a_meter_is_silent_after_three_pushes_but_never_before_ninety_seconds() -> None:
    fast = state_of(*(reading("fast", NOW + 5 * step, 100) for step in range(4)))
    assert fast.meters["fast"].is_live(ms(NOW + 15 + 89))
    assert not fast.meters["fast"].is_live(ms(NOW + 15 + 91))
    slow = state_of(*(reading("slow", NOW + 900 * step, 100) for step in range(4)))
    assert slow.meters["slow"].is_live(ms(NOW + 2700 + 2690))
    assert not slow.meters["slow"].is_live(ms(NOW + 2700 + 2710))


def test_a_silent_meter_leaves_the_sum() -> None:
    state = state_of(reading("a", NOW, 500), reading("b", NOW + 200, 70))
    fleet = state.fleet(ms(NOW + 201))
    assert fleet.net_w == 70
    assert (fleet.meters, fleet.live) == (2, 1)


def test_a_late_reading_goes_to_its_place_and_leaves_now_alone() -> None:
    state = state_of(reading("a", NOW - 10, 100), reading("a", NOW, 300))
    assert state.add(reading("a", NOW - 5, 200, received_ms=ms(NOW + 1)))
    assert state.fleet(ms(NOW + 1)).net_w == 300
    values = [watts for _, watts in state.meter_points("a", ms(NOW - 60), ms(NOW + 1))]
    assert values == [100, 200, 300]


def test_history_does_not_disturb_the_live_curve() -> None:
    state = state_of(reading("a", NOW, 300))
    for hours in range(1, 48):
        state.add(reading("a", NOW - 3600 * hours, 9000, received_ms=ms(NOW + 1)))
    assert state.fleet(ms(NOW + 2)).net_w == 300
    assert [watts for _, watts, _ in state.fleet_points(ms(NOW), ms(NOW + 2))] == [300, 300, 300]


def test_a_meter_that_sends_only_history_is_not_live() -> None:
    state = state_of(reading("a", NOW - 86_400, 300, received_ms=ms(NOW)))
    assert not state.meters["a"].is_live(ms(NOW))
    assert state.fleet(ms(NOW)).net_w is None


def test_a_clock_a_few_minutes_behind_is_still_live() -> None:
    state = state_of(
        *(reading("a", NOW - 180 + step, 300, received_ms=ms(NOW + step)) for step in (0, 5, 10))
    )
    assert state.fleet(ms(NOW + 11)).net_w == 300


def test_a_clock_ahead_is_drawn_when_it_came() -> None:
    state = state_of(reading("a", NOW + 240, 300, received_ms=ms(NOW)))
    assert state.fleet(ms(NOW + 1)).net_w == 300
    assert state.meter_points("a", ms(NOW - 5), ms(NOW + 5)) == [(ms(NOW), 300)]


def test_a_gap_in_the_readings_is_a_gap_in_both_curves() -> None:
    before = [reading("a", NOW + 5 * step, 400) for step in range(5)]
    after = [reading("a", NOW + 600 + 5 * step, 500) for step in range(5)]
    state = state_of(*before, *after)
    watts = [value for _, value in state.meter_points("a", ms(NOW), ms(NOW + 621))]
    assert watts == [400] * 5 + [None] + [500] * 5
    fleet = {at: value for at, value, _ in state.fleet_points(ms(NOW), ms(NOW + 621))}
    assert fleet[ms(NOW + 300)] is None
    assert fleet[ms(NOW + 610)] == 500


def test_meters_that_fall_silent_one_by_one_make_no_false_spike() -> None:
    state = LiveState()
    for number in range(10):
        for step in range(4):
            state.add(reading(f"m{number}", NOW + 5 * step + number / 2, 1000))
    points = state.fleet_points(ms(NOW + 20), ms(NOW + 150))
    assert {watts for _, watts, _ in points} == {10_000, None}
    assert points[-1][1] is None


def test_two_neighbours_in_time_have_no_gap_between_them() -> None:
    state = state_of(*(reading("a", NOW + 60 * step, 400) for step in range(10)))
    assert None not in [value for _, value in state.meter_points("a", ms(NOW), ms(NOW + 541))]


def test_memory_is_bounded_whatever_a_meter_sends() -> None:
    state = LiveState()
    for step in range(3 * 3600):
        state.add(reading("a", NOW + step, 400))
        if step % 100 == 0:
            state.advance(ms(NOW + step))
    assert len(state.meters["a"].curve) <= 3600 + 101
    assert LEAST_POINTS < 3600


def test_a_distance_of_hours_is_an_outage_and_no_push_interval() -> None:
    state = state_of(reading("a", NOW - 30_000, 1), reading("a", NOW, 400))
    assert not state.meters["a"].is_live(ms(NOW + 100))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 600), st.integers(-3000, 3000)), max_size=60))
def test_the_curve_of_the_fleet_ends_at_the_sum_of_its_meters_for_any_order(
    sent: list[tuple[int, int, int]],
) -> None:
    state = state_of(
        *(reading(f"m{meter}", NOW - ago, watts, received_ms=ms(NOW - ago)) for meter, ago, watts in sent)
    )
    now = ms(NOW)
    [(_, watts, meters)] = state.fleet_points(now, now)
    assert watts in (None, state.fleet(now).net_w)
    assert meters == state.fleet(now).live


@given(st.permutations(range(20)))
def test_the_curves_do_not_depend_on_the_order_of_arrival(order: list[int]) -> None:
    readings = [reading("a", NOW - 5 * step, 100 + step, received_ms=ms(NOW - 5 * step)) for step in order]
    mixed, sorted_ = state_of(*readings), state_of(*sorted(readings, key=lambda each: str(each["at"])))
    for curves in (mixed, sorted_):
        assert len(curves.meter_points("a", 0, ms(NOW))) == 20
    span = ms(NOW - 95), ms(NOW)
    assert mixed.fleet_points(*span) == sorted_.fleet_points(*span)
