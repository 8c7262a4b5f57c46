"""The energy rules once more, literally and slowly, with fractions: the judge of the product's own."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from strom.domain.segments import Rules

QUARTER = 15 * 60 * 1000


@dataclass
class Restated:
    """Slots by start: (energy in mWh or None, quality, samples, flags); gaps as (start, end, mWh)."""

    slots: dict[int, tuple[int | None, str, int, frozenset[str]]] = field(default_factory=dict)
    gaps: list[tuple[int, int, int]] = field(default_factory=list)


def restate(readings: Sequence[tuple[int, int]], rules: Rules, *, power: bool = False) -> Restated:
    series = [(t, max(v for u, v in readings if u == t)) for t in sorted({t for t, _ in readings})]
    flags: dict[int, set[str]] = {}
    totals = power_totals(series) if power else counter_totals(series, rules, flags)
    result = Restated()
    if not totals:
        return result
    times = [t for t, _ in totals]
    known: dict[int, tuple[str, int | None]] = {}
    for border in range(-(-times[0] // QUARTER) * QUARTER, times[-1] + 1, QUARTER):
        known[border] = judge_border(border, totals, rules)
    for start in sorted(known):
        if start + QUARTER in known:
            marks = frozenset(flags.get(start, set()))
            samples = sum(start <= t < start + QUARTER for t in times)
            result.slots[start] = (
                *judge_slot(known[start], known[start + QUARTER], marks, power),
                samples,
                marks,
            )
    result.gaps = find_gaps(result, known)
    return result


def counter_totals(
    series: Sequence[tuple[int, int]], rules: Rules, flags: dict[int, set[str]]
) -> list[tuple[int, Fraction]]:
    accepted: list[tuple[int, int]] = []
    totals: list[tuple[int, Fraction]] = []
    for i, (t, c) in enumerate(series):
        if not accepted:
            accepted.append((t, c))
            totals.append((t, Fraction(0)))
            continue
        last = accepted[-1]
        if normal(last, (t, c), rules):
            accepted.append((t, c))
            totals.append((t, totals[-1][1] + c - last[1]))
        elif last[1] - rules.noise_mwh <= c < last[1]:
            accepted.append((t, last[1]))
            totals.append((t, totals[-1][1]))
        elif (
            i + 2 < len(series)
            and normal((t, c), series[i + 1], rules)
            and normal(series[i + 1], series[i + 2], rules)
        ):
            accepted.append((t, c))
            totals.append((t, totals[-1][1]))
            flags.setdefault(t // QUARTER * QUARTER, set()).add("reset")
        else:
            flags.setdefault(t // QUARTER * QUARTER, set()).add("jump")
    return totals


def power_totals(series: Sequence[tuple[int, int]]) -> list[tuple[int, Fraction]]:
    totals = [(series[0][0], Fraction(0))] if series else []
    for (t0, milliwatts), (t1, _) in itertools.pairwise(series):
        totals.append((t1, totals[-1][1] + Fraction(milliwatts * (t1 - t0), 3_600_000)))
    return totals


def normal(before: tuple[int, int], after: tuple[int, int], rules: Rules) -> bool:
    most = before[1] + Fraction(rules.limit_w * (after[0] - before[0]), 3600) + 1000
    return before[1] <= after[1] <= most


def judge_border(border: int, totals: list[tuple[int, Fraction]], rules: Rules) -> tuple[str, int | None]:
    for t, total in totals:
        if t == border:
            return "exact", rounded(total)
    t0, e0 = max((t, e) for t, e in totals if t < border)
    t1, e1 = min((t, e) for t, e in totals if t > border)
    value = rounded(e0 + (e1 - e0) * Fraction(border - t0, t1 - t0))
    if t1 - t0 <= rules.exact_ms:
        return "exact", value
    return ("interpolated", value) if t1 - t0 < rules.linear_ms else ("unknown", None)


def rounded(value: Fraction) -> int:
    return (value + Fraction(1, 2)).__floor__()


def judge_slot(
    start: tuple[str, int | None], end: tuple[str, int | None], flags: frozenset[str], power: bool
) -> tuple[int | None, str]:
    if start[1] is None or end[1] is None:
        return None, "missing"
    if "interpolated" in (start[0], end[0]) or "reset" in flags:
        return end[1] - start[1], "substitute"
    return end[1] - start[1], "calculated" if power else "measured"


def find_gaps(result: Restated, known: dict[int, tuple[str, int | None]]) -> list[tuple[int, int, int]]:
    missing = [start for start in sorted(result.slots) if result.slots[start][1] == "missing"]
    runs: list[list[int]] = []
    for start in missing:
        if runs and runs[-1][-1] + QUARTER == start:
            runs[-1].append(start)
        else:
            runs.append([start])
    gaps = []
    for run in runs:
        first, last = known[run[0]][1], known[run[-1] + QUARTER][1]
        if first is not None and last is not None:
            gaps.append((run[0], run[-1] + QUARTER, last - first))
    return gaps
