"""All alerts of a set of readings, as the pure functions give them: what the tables must hold in the end."""

from collections.abc import Mapping, Sequence
from functools import reduce

from strom.domain.alerts import (
    Alert,
    VoltageBounds,
    VoltageMean,
    counter_back,
    jump,
    voltage_alerts,
    window_of,
)
from strom.domain.clock import ClockWindow, clock_alerts
from strom.domain.load_profile import Direction, Sample, evaluate
from strom.domain.reading import CLOCK_WRONG
from strom.domain.run_kinds import PHASES, POWERS, RUN_KINDS
from strom.domain.runs import walk_runs
from strom.pipeline.alerts.runs import run_limits
from strom.pipeline.limits import Limits
from tests.pipeline.batches import Sent

FIELDS = {
    **{phase: f"voltage_{phase}_v" for phase in PHASES},
    **{power: f"{power}_w" for power in POWERS},
}


def milli(each: Sent, field: str) -> int | None:
    return round(each.numbers[field] * 1000) if field in each.numbers else None


def expected_alerts(
    limits: Limits, meters: Mapping[str, Sequence[Sent]], arrived: Mapping[str, Sequence[Sent]]
) -> dict[str, Alert]:
    """Of every kind that is judged by readings alone: clocks by all that arrived, the rest by what is settled.

    `silent` also depends on when the timer looked.
    """
    found = [alert for meter, own in arrived.items() for alert in _clock(limits, meter, own)]
    for meter, own in meters.items():
        found += [
            *_counters(limits, meter, own),
            *_voltages(limits, meter, own),
            *_runs(limits, meter, own),
        ]
    return {alert.id: alert for alert in found}


def _counters(limits: Limits, meter: str, own: Sequence[Sent]) -> list[Alert]:
    rules, zone = limits.energy(meter), limits.timezone
    found = []
    for way in Direction:
        chain = evaluate(
            [Sample(each.at, milli(each, f"{way}_wh"), milli(each, f"{way}_w")) for each in own], rules
        )
        found += [counter_back(meter, way, fall.at, fall.mwh, rules.noise_mwh, zone) for fall in chain.falls]
        found += [jump(meter, way, each.at, each.mwh, each.most_mwh, zone) for each in chain.jumps]
    return found


def _voltages(limits: Limits, meter: str, own: Sequence[Sent]) -> list[Alert]:
    rules = limits.settings(meter)
    bounds = VoltageBounds(207_000, 253_000, 195_500, round(rules.voltage_severe_high_v * 1000))
    current = window_of(max(each.at for each in own))
    found = []
    for phase in PHASES:
        moments = {at: mv for at, told in _moments(own).items() if (mv := told[phase]) is not None}
        means = []
        for start in {window_of(at) for at in moments}:
            mvs = [mv for at, mv in moments.items() if window_of(at) == start]
            means.append(VoltageMean(start, sum(mvs), len(mvs)))
        found += voltage_alerts(meter, phase, means, current, bounds, limits.timezone)
    return found


def _moments(own: Sequence[Sent]) -> dict[int, dict[str, int | None]]:
    """Of several readings at a moment the largest values."""
    found: dict[int, dict[str, int | None]] = {}
    for each in own:
        told = found.setdefault(each.at, dict.fromkeys(FIELDS))
        for name, field in FIELDS.items():
            both = [value for value in (told[name], milli(each, field)) if value is not None]
            told[name] = max(both, default=None)
    return found


def _runs(limits: Limits, meter: str, own: Sequence[Sent]) -> list[Alert]:
    rules = run_limits(limits.settings(meter))
    moments = _moments(own)
    found = []
    for kind in RUN_KINDS:
        judged = [(at, kind.judge(moments[at], rules)) for at in sorted(moments)]
        points = [(at, verdict) for at, verdict in judged if verdict is not None]
        runs = walk_runs(None, points, kind.worse, rules.apart_ms)
        found += [kind.alert(meter, run, rules, limits.timezone) for run in runs]
    return [alert for alert in found if alert is not None]


def _clock(limits: Limits, meter: str, own: Sequence[Sent]) -> list[Alert]:
    windows: dict[int, list[ClockWindow]] = {}
    for each in own:
        start, lag = window_of(each.received), each.received - each.at
        told = ClockWindow(start, each.received, each.received, lag, lag, False)
        if CLOCK_WRONG in each.flags:
            told = ClockWindow(start, None, None, None, None, True)
        windows.setdefault(start, []).append(told)
    joined = [reduce(ClockWindow.__add__, parts) for parts in windows.values()]
    limit = limits.settings(meter).clock_seconds * 1000
    return clock_alerts(meter, joined, window_of(max(each.received for each in own)), limit, limits.timezone)
