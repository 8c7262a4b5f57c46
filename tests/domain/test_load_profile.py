"""The quarter-hours: every rule by example, and all against a literal restatement over random histories."""

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strom.domain.acceptance import Point, series, walk
from strom.domain.chain import Chain
from strom.domain.load_profile import Direction, Row, Sample, evaluate, profile
from strom.domain.segments import Fall, Gap, Jump, Measure, Quality, Rules, Segment
from strom.domain.slots import SLOT_MS
from tests.domain.rules_restated import restate

RULES = Rules(limit_w=43_470, noise_mwh=10_000, exact_ms=60_000, linear_ms=7_200_000)
MINUTE = 60_000
HOUR = 60 * MINUTE


def counters(*points: tuple[float, float]) -> list[Sample]:
    """Minutes and Wh."""
    return [Sample(round(minute * MINUTE), counter=round(wh * 1000)) for minute, wh in points]


def every_minute(first: int, last: int, *, start_wh: float = 0, wh: float = 1) -> list[tuple[float, float]]:
    return [(minute, start_wh + wh * (minute - first)) for minute in range(first, last + 1)]


def energies(chain: Chain) -> list[int | None]:
    return [row.mwh for row in chain.rows]


def qualities(chain: Chain) -> list[str]:
    return [row.quality.value for row in chain.rows]


def test_a_slot_is_the_difference_of_the_totals_at_its_borders() -> None:
    chain = evaluate(counters(*every_minute(0, 30)), RULES)
    assert energies(chain) == [15_000, 15_000]
    assert qualities(chain) == ["measured", "measured"]
    assert [row.samples for row in chain.rows] == [15, 15]


def test_there_is_no_slot_before_the_first_or_after_the_last_reading() -> None:
    chain = evaluate(counters(*every_minute(7, 44)), RULES)
    assert [row.start for row in chain.rows] == [SLOT_MS]


def test_a_border_between_readings_is_interpolated_and_rounded_half_up() -> None:
    chain = evaluate(counters((14, 0), (16, 0.001), (31, 0.001)), RULES)
    assert energies(chain) == [0]
    chain = evaluate(counters((0, 0), (14, 0), (16, 0.001)), RULES)
    assert energies(chain) == [1]


def test_readings_far_apart_make_a_substitute_and_no_readings_make_slots_of_the_line() -> None:
    chain = evaluate(counters((0, 0), (60, 400)), RULES)
    assert energies(chain) == [100_000] * 4
    assert qualities(chain) == ["substitute"] * 4
    assert [row.samples for row in chain.rows] == [1, 0, 0, 0]


def test_an_outage_of_two_hours_is_a_gap_and_in_no_slot() -> None:
    chain = evaluate(counters(*every_minute(0, 20), *every_minute(140, 170, start_wh=500)), RULES)
    assert qualities(chain) == ["measured"] + ["missing"] * 9 + ["measured"]
    assert [gap for gap in chain.gaps.values() if gap] == [Gap(SLOT_MS, 10 * SLOT_MS, 510_000 - 15_000)]


def test_just_under_two_hours_is_a_line() -> None:
    assert qualities(evaluate(counters((0, 0), (119.9, 10)), RULES)) == ["substitute"] * 7


def test_noise_keeps_the_value() -> None:
    chain = evaluate(counters((0, 100), (5, 92), (10, 101), (15, 103)), RULES)
    assert energies(chain) == [3_000]
    assert chain.rows[0].samples == 3
    assert not chain.rows[0].jump


def test_one_wrong_reading_is_dropped_and_flagged() -> None:
    chain = evaluate(counters((0, 100), (1, 100_000), *every_minute(2, 30, start_wh=102)), RULES)
    assert energies(chain) == [15_000, 15_000]
    assert (chain.rows[0].jump, chain.rows[0].samples, chain.rows[1].jump) == (True, 14, False)


def test_a_meter_swap_counts_nothing_and_flags_its_slot() -> None:
    chain = evaluate(counters(*every_minute(0, 20, start_wh=5000), *every_minute(21, 45)), RULES)
    assert energies(chain) == [15_000, 14_000, 15_000]
    assert qualities(chain) == ["measured", "substitute", "measured"]
    assert [row.reset for row in chain.rows] == [False, True, False]
    assert [(fall.at, fall.mwh) for fall in chain.falls] == [(21 * MINUTE, 5_020_000)]


def test_a_swap_waits_for_two_readings_that_follow_it() -> None:
    before = every_minute(0, 20, start_wh=5000)
    assert energies(evaluate(counters(*before, (30, 0), (31, 1)), RULES)) == [15_000]
    assert energies(evaluate(counters(*before, (30, 0), (31, 1), (32, 2)), RULES)) == [15_000, 5_000]


def test_of_several_readings_at_a_moment_the_largest_counts() -> None:
    chain = evaluate(counters((0, 0), (15, 2), (15, 3), (15, 1)), RULES)
    assert energies(chain) == [3_000]


def test_without_a_counter_power_is_held_until_the_next_reading() -> None:
    samples = [Sample(0, power=1_000_000), Sample(10 * MINUTE, power=400_000), Sample(15 * MINUTE, power=0)]
    chain = evaluate(samples, RULES)
    assert energies(chain) == [200_000]
    assert qualities(chain) == ["calculated"]


def test_dense_power_is_calculated_and_sums_to_the_integral() -> None:
    chain = evaluate(
        [Sample(second * 1000, power=333) for second in range(0, 3601, 7)] + [Sample(HOUR, power=1)], RULES
    )
    assert set(qualities(chain)) == {"calculated"}
    assert sum(row.mwh or 0 for row in chain.rows) == 333


def test_one_counter_in_the_history_makes_power_irrelevant() -> None:
    assert (
        evaluate([Sample(0, power=5), Sample(SLOT_MS, counter=1), Sample(2 * SLOT_MS, power=5)], RULES).rows
        == []
    )


def test_a_row_holds_both_directions_and_the_worse_quality() -> None:
    dense = evaluate(counters(*every_minute(0, 15)), RULES)
    sparse = evaluate(counters((0, 0), (7, 90_000), (16, 4)), RULES)
    (row,) = profile({Direction.IMPORT: dense, Direction.EXPORT: sparse})
    assert (row.quality, row.samples, row.flags) == (Quality.SUBSTITUTE, 15, ("export-jump",))
    assert row.imported is not None
    assert row.imported.mwh == 15_000
    assert row.exported is not None
    assert row.exported.mwh == 3_750


def test_a_direction_that_a_meter_does_not_have_is_left_out() -> None:
    dense = evaluate(counters(*every_minute(0, 15)), RULES)
    assert profile({Direction.IMPORT: dense, Direction.EXPORT: evaluate([], RULES)}) == [
        Row(0, profile({Direction.IMPORT: dense})[0].imported, None)
    ]


def test_a_counter_that_grows_too_fast_is_a_jump_whatever_becomes_of_it() -> None:
    faulty = evaluate(counters(*every_minute(0, 20), (21, 5_000), *every_minute(22, 40, start_wh=22)), RULES)
    swapped = evaluate(counters(*every_minute(0, 20), *every_minute(21, 40, start_wh=5_000)), RULES)
    for chain in (faulty, swapped):
        assert [(jump.at, jump.mwh) for jump in chain.jumps] == [(21 * MINUTE, 4_980_000)]
        assert chain.jumps[0].most_mwh == 43_470_000 // 60 + 1_000
        assert chain.falls == []


def test_readings_that_jump_one_after_the_other_are_one_event() -> None:
    chain = evaluate(counters(*every_minute(0, 20), (21, 5_000), (22, 90_000), (23, 23), (24, 7_000)), RULES)
    assert [jump.at for jump in chain.jumps] == [21 * MINUTE, 24 * MINUTE]


many = settings(max_examples=max(1_000, settings().max_examples))  # more with `make fuzz`

STEPS_MS = st.sampled_from(
    [1, 1000, 5000, 59_999, 60_000, 60_001, 5 * MINUTE, SLOT_MS, HOUR, 2 * HOUR - 1, 2 * HOUR, 9 * HOUR]
)
GROWTH = st.one_of(
    st.integers(0, 3_000),
    st.integers(0, 90_000),
    st.integers(-10_001, -1),
    st.integers(-9_000_000, 9_000_000),
)
STARTS = st.sampled_from([0, 1, 13 * MINUTE, SLOT_MS - 1])


@st.composite
def histories(draw: st.DrawFn) -> list[Point]:
    t, c = draw(STARTS), draw(st.integers(0, 50_000))
    points = [(t, c)]
    for step, growth in draw(st.lists(st.tuples(STEPS_MS, GROWTH), max_size=40)):
        t, c = t + step, max(0, c + growth)
        points.append((t, c))
        if draw(st.integers(0, 9)) == 0:
            t = t // SLOT_MS * SLOT_MS + SLOT_MS  # the next one lies at a border
            points.append((t, c))
    return points


def assert_same(chain: Chain, points: Sequence[Point], *, power: bool = False) -> None:
    judge = restate(points, RULES, power=power)
    mine = {
        row.start: (
            row.mwh,
            row.quality.value,
            row.samples,
            frozenset(name for name, on in (("reset", row.reset), ("jump", row.jump)) if on),
        )
        for row in chain.rows
    }
    assert mine == judge.slots
    assert sorted((gap.start, gap.end, gap.mwh) for gap in chain.gaps.values() if gap) == judge.gaps


@many
@given(histories(), st.randoms(use_true_random=False))
def test_any_history_in_any_order_and_twice_gives_the_rules_slots(
    points: list[Point], chance: random.Random
) -> None:
    shuffled = points + chance.choices(points, k=3)
    chance.shuffle(shuffled)
    assert_same(evaluate([Sample(t, counter=c) for t, c in shuffled], RULES), shuffled)


@many
@given(histories())
def test_held_power_gives_the_rules_slots(points: list[Point]) -> None:
    assert_same(evaluate([Sample(t, power=v) for t, v in points], RULES), points, power=True)


@many
@given(histories())
def test_slots_and_gaps_sum_to_the_difference_of_the_totals(points: list[Point]) -> None:
    chain = evaluate([Sample(t, counter=c) for t, c in points], RULES)
    present = [row for row in chain.rows if row.mwh is not None]
    if not present:
        return
    inside = (gap for gap in chain.gaps.values() if gap and present[0].start < gap.start < present[-1].start)
    starts = {segment.slot: segment.start_mwh for segment in chain.segments}
    first, last = present[0], present[-1]
    total = sum(row.mwh or 0 for row in present) + sum(gap.mwh for gap in inside)
    if starts.get(first.start) is not None and starts.get(last.start) is not None:
        assert total == (starts[last.start] or 0) + (last.mwh or 0) - (starts[first.start] or 0)


@pytest.mark.parametrize("measure", list(Measure))
@many
@given(points=histories(), cuts=st.lists(st.integers(0, 50), max_size=6))
def test_walking_in_parts_from_what_was_settled_gives_the_same(
    measure: Measure, points: list[Point], cuts: list[int]
) -> None:
    whole = series(points)
    stored: dict[int, Segment] = {}
    carried: Segment | None = None
    pending: tuple[Point, ...] = ()
    rows: dict[int, object] = {}
    gaps: dict[int, Gap | None] = {}
    falls: list[Fall] = []
    jumps: list[Jump] = []
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    for begin, end in itertools.pairwise(edges):
        walked = walk(carried, [*pending, *whole[begin:end]], measure, RULES)
        since = carried.slot if carried else 0
        rows = {start: row for start, row in rows.items() if start < since} | {
            r.start: r for r in walked.chain.rows
        }
        gaps = {start: gap for start, gap in gaps.items() if start < since} | walked.chain.gaps
        told = (carried.fall_t or carried.last_t, carried.jump_t or carried.last_t) if carried else (-1, -1)
        falls = [fall for fall in falls if fall.at <= told[0]] + walked.chain.falls
        jumps = [jump for jump in jumps if jump.at <= told[1]] + walked.chain.jumps
        stored |= {segment.slot: segment for segment in walked.settled}
        carried = walked.settled[-1] if walked.settled else None
        pending = walked.pending
    chain = walk(None, whole, measure, RULES).chain
    assert list(rows.values()) == chain.rows
    assert {s: g for s, g in gaps.items() if g} == {s: g for s, g in chain.gaps.items() if g}
    assert (falls, jumps) == (chain.falls, chain.jumps)


@many
@given(points=histories(), late=histories())
def test_a_late_reading_changes_nothing_up_to_an_anchor_before_it(
    points: list[Point], late: list[Point]
) -> None:
    everything = series([*points, *late[:2]])
    before = walk(None, series(points), Measure.COUNTER, RULES)
    earliest = min(t for t, _ in late[:2])
    anchors = [s for s in before.settled if s.last_t < earliest and s.streak >= 2]
    if not anchors:
        return
    anchor = anchors[-1]._replace(trail=(), fall_t=None, jump_t=None)
    again = walk(anchor, [p for p in everything if p[0] > anchor.last_t], Measure.COUNTER, RULES)
    whole = walk(None, everything, Measure.COUNTER, RULES)
    assert again.settled == tuple(s for s in whole.settled if s.slot >= anchor.slot)
    assert again.chain.rows == [row for row in whole.chain.rows if row.start >= anchor.slot]
    assert again.chain.jumps == [jump for jump in whole.chain.jumps if jump.at > anchor.last_t]
    assert again.chain.falls == [fall for fall in whole.chain.falls if fall.at > anchor.last_t]
