"""The sums that are kept with each reading are those that a walk over all meters finds."""

from hypothesis import given
from hypothesis import strategies as st

from strom.serve.live import LiveState, natural
from tests.serve.feeder import reading

NOW = 1_800_000_000

Step = tuple[int, int, int, int, bool]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 4),  # the meter
        st.integers(0, 200),  # seconds until the next step
        st.integers(-400, 5),  # how far its clock is ahead
        st.integers(-3000, 3000),
        st.booleans(),  # without power
    ),
    max_size=40,
)


def walked(state: LiveState, now: int) -> tuple[float | None, float | None, int, int, int]:
    powers = [power for each in state.meters.values() if (power := each.power(now)) is not None]
    return (
        sum(power.import_mw for power in powers) / 1000 if powers else None,
        sum(power.export_mw for power in powers) / 1000 if powers else None,
        sum(each.is_live(now) for each in state.meters.values()),
        sum(power.import_mw > power.export_mw for power in powers),
        sum(power.import_mw < power.export_mw for power in powers),
    )


@given(STEPS, st.integers(1, 9))
def test_the_fleets_sums_are_those_of_its_meters_at_any_time(steps: list[Step], asked_every: int) -> None:
    state, now = LiveState(), NOW * 1000
    for number, (meter, wait, ahead, watts, powerless) in enumerate(steps):
        sent = reading(f"m{meter}", now / 1000 + ahead, watts, received_ms=now)
        if powerless:
            sent = {key: value for key, value in sent.items() if not key.endswith("port_w")}
        state.add(sent)
        if number % asked_every == 0:
            fleet = state.fleet(now)
            found = (fleet.import_w, fleet.export_w, fleet.live, fleet.drawing, fleet.feeding)
            assert found == walked(state, now)
        now += wait * 1000 + 137
    for later in (0, 50_000, 400_000, 4_000_000):
        fleet = state.fleet(now + later)
        found = (fleet.import_w, fleet.export_w, fleet.live, fleet.drawing, fleet.feeding)
        assert found == walked(state, now + later)


def test_the_points_of_a_large_fleet_are_trimmed_in_turns() -> None:
    state = LiveState()
    for number in range(5000):
        for age in (9000, 8000, 7000, 10):
            state.add(reading(f"m{number}", NOW - age, 5, received_ms=(NOW - age) * 1000))
    for _ in range(4):
        state.advance(NOW * 1000)
    assert {len(each.curve) for each in state.meters.values()} == {2}


def test_names_are_sorted_with_their_numbers_by_size() -> None:
    names = ["Flat 12", "flat 2", "Flat 2b", "10", "9", "Flat", "m-2/10", "m-2/9", "m-10/1", "m"]
    assert sorted(names, key=natural) == [
        "Flat", "flat 2", "Flat 2b", "Flat 12", "m", "m-2/9", "m-2/10", "m-10/1", "9", "10",
    ]  # fmt: skip
