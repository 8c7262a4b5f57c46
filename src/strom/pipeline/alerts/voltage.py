"""Ten-minute means of each phase's voltage, and the alerts that follow from those out of bounds.

A window is judged when it is over, that is when the meter has sent a later reading: a mean of half a window would
open alerts that vanish. A mean is a function of the set of readings; of meters with late ones whole windows come from the lake.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from strom.domain.alerts import (
    VOLTAGE,
    Alert,
    VoltageBounds,
    VoltageMean,
    voltage_alerts,
    window_of,
)
from strom.domain.run_kinds import PHASES
from strom.pipeline.limits import Limits
from strom.pipeline.process.folded import Cell
from strom.settings import RuleSettings
from strom.store import alert_tables as tables
from strom.store.alert_tables import Scope, Window
from strom.store.position_tables import Settled
from strom.store.writes import Work

Key = tuple[str, int]  # meter and window


class Voltages:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bounds = {id(rules): _bounds(rules) for rules in limits.of_meter.variants}

    def judged(
        self,
        work: Work,
        added: Mapping[str, Sequence[Cell]],
        whole: Mapping[str, Sequence[Cell]],
        old: Mapping[str, Settled],
        new: Mapping[str, Settled],
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there; windows are whole, or added to what is stored."""
        over = self._windows_over(work, added, whole, old, new)
        since = {(meter, phase): min(starts) for meter, starts in over.items() for phase in PHASES}
        scopes = [Scope(meter, VOLTAGE, phase, start) for (meter, phase), start in since.items()]
        for alert in tables.load_alerts(work, scopes):
            # Of each phase by itself: what lies before is no part of another phase's alert.
            since[alert.meter, alert.part] = min(since[alert.meter, alert.part], alert.started)
        firsts = {meter: min(since[meter, phase] for phase in PHASES) for meter in over}
        means: defaultdict[tuple[str, str], list[VoltageMean]] = defaultdict(list)
        for (meter, start), window in tables.load_windows(work, firsts.items()).items():
            for phase, mv, samples in zip(PHASES, window.mv, window.samples, strict=True):
                if samples and start >= since[meter, phase]:
                    means[meter, phase].append(VoltageMean(start, mv, samples))
        alerts = [
            alert
            for (meter, phase), own in means.items()
            for alert in voltage_alerts(
                meter, phase, own, window_of(new[meter].newest), self._of(meter), self._limits.timezone
            )
        ]
        return scopes, alerts

    def _windows_over(
        self,
        work: Work,
        added: Mapping[str, Sequence[Cell]],
        whole: Mapping[str, Sequence[Cell]],
        old: Mapping[str, Settled],
        new: Mapping[str, Settled],
    ) -> dict[str, set[int]]:
        """Store the sums; returns the windows that are over and were not judged before on just these readings."""
        current = {meter: window_of(new[meter].newest) for meter in new}
        last = {meter: window_of(each.newest) for meter, each in old.items()}
        stored = tables.load_windows(work, last.items())
        merged = {key: _plus(window, stored.get(key)) for key, window in _sums(added).items()}
        merged |= _sums(whole)
        known = stored | merged
        over = {key for key in known if key[1] < current[key[0]]}
        good = {key for key in over if not _is_bad(known[key], self._of(key[0]))}
        tables.save_windows(work, {key: window for key, window in merged.items() if key not in good})
        tables.delete_windows(work, good)
        found: defaultdict[str, set[int]] = defaultdict(set)
        for meter, start in over | {key for key in last.items() if key[1] < current[key[0]]}:
            found[meter].add(start)
        return dict(found)

    def _of(self, meter: str) -> VoltageBounds:
        return self._bounds[id(self._limits.settings(meter))]


def _bounds(rules: RuleSettings) -> VoltageBounds:
    right = (rules.voltage_low_v, rules.voltage_high_v)
    severe = (rules.voltage_severe_low_v, rules.voltage_severe_high_v)
    return VoltageBounds(*(round(limit * 1000) for limit in (*right, *severe)))


def _is_bad(window: Window, bounds: VoltageBounds) -> bool:
    return any(
        samples and VoltageMean(0, mv, samples).side(bounds)
        for mv, samples in zip(window.mv, window.samples, strict=True)
    )


def _sums(cells: Mapping[str, Sequence[Cell]]) -> dict[Key, Window]:
    sums: dict[Key, Window] = {}
    for meter, own in cells.items():
        for cell in own:
            if any(cell.volts):
                key = (meter, window_of(cell.start))
                sums[key] = _plus(Window(cell.mv, cell.volts), sums.get(key))
    return sums


def _plus(window: Window, other: Window | None) -> Window:
    if other is None:
        return window
    return Window(
        tuple(a + b for a, b in zip(window.mv, other.mv, strict=True)),
        tuple(a + b for a, b in zip(window.samples, other.samples, strict=True)),
    )
