"""Runs of readings under a condition: the same for any order of arrival, and what makes an alert of one."""

from collections.abc import Sequence
from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.domain.alerts import Alert
from strom.domain.run_kinds import RUN_KINDS, Moment, RunLimits
from strom.domain.runs import Run, Verdict, touched_since, walk_runs

ZONE = "Europe/Vienna"
NOON = 1_767_265_200_000  # 2026-01-01 12:00 in Vienna
SECOND = 1000
HOUR = 3600 * SECOND
LIMITS = RunLimits(50_000, 10_000, 195_500, 253_000, 11_000_000, 60_000, 2 * HOUR)
KINDS = {(kind.kind, kind.part): kind for kind in RUN_KINDS}


def moment(**values: float) -> Moment:
    """W and V by name."""
    names = ("import", "export", "l1", "l2", "l3")
    found = {name.removesuffix("_"): round(value * 1000) for name, value in values.items()}
    return {name: found.get(name) for name in names}


def alerts(kind: str, part: str, moments: Sequence[tuple[float, Moment]]) -> list[Alert]:
    """Of moments by their seconds after noon."""
    judged = [(NOON + round(s * SECOND), KINDS[kind, part].judge(each, LIMITS)) for s, each in moments]
    points = [(t, verdict) for t, verdict in judged if verdict is not None]
    runs = walk_runs(None, points, KINDS[kind, part].worse, LIMITS.apart_ms)
    found = [KINDS[kind, part].alert("m1", run, LIMITS, ZONE) for run in runs]
    return [alert for alert in found if alert is not None]


def drawing(*watts: tuple[float, float]) -> list[tuple[float, Moment]]:
    return [(second, moment(import_=value)) for second, value in watts]


def test_power_over_the_agreed_one_is_an_overload_only_after_a_minute() -> None:
    assert alerts("overload", "import", drawing((0, 12_000), (60, 12_000), (65, 10_000))) == []
    (alert,) = alerts("overload", "import", drawing((0, 12_000), (30, 13_500), (61, 12_000), (65, 10_000)))
    assert (alert.started, alert.ended) == (NOON, NOON + 65 * SECOND)
    assert (alert.value, alert.threshold, alert.severe) == (13_500, 11_000, False)
    assert alert.text.startswith("m1 drew more than the agreed 11 kW from 01.01. 12:00 to 01.01. 12:01")
    assert alert.text.endswith("did too much run at once?")


def test_an_overload_is_open_until_a_reading_says_that_it_is_over() -> None:
    (alert,) = alerts("overload", "import", drawing((0, 12_000), (90, 12_000)))
    assert alert.ended is None
    assert "draws more than the agreed 11 kW since 01.01. 12:00" in alert.text
    assert alert.text.endswith("does too much run at once?")


def test_exactly_the_agreed_power_is_no_overload() -> None:
    assert alerts("overload", "import", drawing((0, 11_000), (300, 11_000))) == []


def test_export_has_overloads_of_its_own() -> None:
    moments = [(second, moment(import_=0, export=12_000)) for second in (0, 90)]
    assert alerts("overload", "import", moments) == []
    assert [alert.part for alert in alerts("overload", "export", moments)] == ["export"]


def test_readings_without_the_power_do_not_interrupt() -> None:
    moments = [*drawing((0, 12_000), (50, 12_000)), (55, moment(l1=230)), *drawing((70, 12_000))]
    assert len(alerts("overload", "import", moments)) == 1


def test_nothing_is_known_across_a_long_hole() -> None:
    hole = 2 * 3600
    (alert,) = alerts("overload", "import", drawing((0, 12_000), (90, 12_000), (90 + hole, 12_000)))
    assert alert.ended == NOON + 90 * SECOND


@pytest.mark.parametrize(
    ("volts", "lost"),
    [
        ({"l1": 3, "l2": 230, "l3": 231}, True),
        ({"l1": 3, "l2": 230}, True),  # a meter that tells two phases
        ({"l1": 3}, False),  # no other one to tell a lost phase from a meter without voltages
        ({"l1": 3, "l2": 0, "l3": 231}, False),  # a meter that is connected to one phase only
        ({"l1": 3, "l2": 260, "l3": 231}, False),
        ({"l1": 50, "l2": 230, "l3": 231}, False),
    ],
)
def test_a_phase_is_lost_when_the_others_are_good(volts: dict[str, float], lost: bool) -> None:
    found = alerts("phase-loss", "l1", [(0, moment(**volts)), (11, moment(**volts))])
    assert bool(found) is lost


def test_a_lost_phase_is_severe_and_names_the_phase() -> None:
    moments = [(0, moment(l1=230, l2=7.04, l3=231)), (20, moment(l1=230, l2=3, l3=231))]
    (alert,) = alerts("phase-loss", "l2", moments)
    assert (alert.value, alert.threshold, alert.severe, alert.part) == (3, 50, True, "l2")
    assert alert.text.startswith("m1 is without voltage on L2 since 01.01. 12:00 (3 V)")
    (over,) = alerts("phase-loss", "l2", [*moments, (25, moment(l1=230, l2=230, l3=231))])
    assert over.text.startswith("m1 was without voltage on L2 from 01.01. 12:00 to 01.01. 12:00 (3 V)")
    assert over.text.endswith("the other phases were fine: had a fuse blown?")


def test_a_voltage_of_zero_in_one_reading_is_not_believed() -> None:
    good, bad = moment(l1=230, l2=230), moment(l1=0, l2=230)
    assert alerts("phase-loss", "l1", [(0, good), (5, bad), (10, good)]) == []


APART = 10
SETS = st.dictionaries(st.integers(0, 60), st.integers(-3, 3), max_size=25)


def judged(value: int) -> Verdict:
    return Verdict(value > 0, value)


def restated(readings: dict[int, int]) -> list[Run]:
    """Literally: cut at every hole, then at every change, and keep what fulfils the condition."""
    times = sorted(readings)
    pieces: list[list[int]] = []
    for index, t in enumerate(times):
        if index == 0 or t - times[index - 1] >= APART:
            pieces.append([])
        pieces[-1].append(t)
    runs = []
    for piece in pieces:
        for holds, group in groupby(piece, key=lambda t: readings[t] > 0):
            own = list(group)
            if holds:
                after = [t for t in times if t > own[-1]]
                worst = max(readings[t] for t in own)
                runs.append(Run(own[0], own[-1], worst, after[0] if after else None))
    return runs


@given(SETS)
def test_runs_are_what_their_description_says(readings: dict[int, int]) -> None:
    points = [(t, judged(readings[t])) for t in sorted(readings)]
    assert walk_runs(None, points, max, APART) == restated(readings)


@given(SETS.filter(bool), st.randoms(use_true_random=False))
def test_any_order_and_any_batches_give_the_runs_of_the_set(readings: dict[int, int], chance: Random) -> None:
    order = list(readings)
    chance.shuffle(order)
    if chance.random() < 0.5:
        order.sort(key=lambda t: t + chance.choice([0, 0, 0, 20]))
    taken: dict[int, int] = {}
    stored: list[Run] = []
    while order:
        size = chance.randint(1, 4)
        batch, order = sorted(order[:size]), order[size:]
        late = bool(taken) and batch[0] <= max(taken)
        taken |= {t: readings[t] for t in batch}
        touching = [run for run in stored if run.until is None or run.until >= batch[0]]
        since = touched_since(batch[0], touching) if late else batch[0]
        carried = stored[-1] if not late and stored and stored[-1].until is None else None
        points = [(t, judged(taken[t])) for t in sorted(taken) if t >= since]
        walked = walk_runs(carried, points, max, APART)
        begin = carried.start if carried is not None else since
        stored = [run for run in stored if run.start < begin] + walked
    assert stored == restated(readings)
