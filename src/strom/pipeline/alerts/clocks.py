"""Meters whose clock is wrong, by windows of arrivals; a window is judged when it is over, as for the voltages.

Only meters that told an odd time, or did so in the window in progress, are summed up at all. Parts of a window are
joined as they come; what came before the first odd time of a window is looked up in the lake, as is a window that was over and forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from strom.domain.alerts import CLOCK, Alert, window_of
from strom.domain.clock import ClockWindow, clock_alerts
from strom.pipeline.limits import Limits
from strom.pipeline.process.arrived import Arrived
from strom.pipeline.process.needs import ArrivalsNeed
from strom.store.alert_tables import Scope, load_alerts, load_open
from strom.store.clock_tables import Key, load_clock_windows, save_clock_windows
from strom.store.meter_tables import MeterState
from strom.store.writes import Work

Windows = dict[str, dict[int, ClockWindow]]  # of each meter, by start


class Clocks:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def stored(self, work: Work, meters: Mapping[str, Arrived], old: Mapping[str, MeterState]) -> Windows:
        """The windows that what has arrived may go on with."""
        since = {
            meter: window_of(min(cell.received_first for cell in each.cells))
            for meter, each in meters.items()
        }
        since |= {meter: min(since[meter], window_of(state.received)) for meter, state in old.items()}
        found: Windows = {}
        for (meter, start), window in load_clock_windows(work, since.items()).items():
            found.setdefault(meter, {})[start] = window
        return found

    def lacks(
        self,
        arrived: Arrived,
        stored: Mapping[int, ClockWindow],
        old: MeterState | None,
        need: ArrivalsNeed,
    ) -> ArrivalsNeed:
        """The need with what this meter's windows take; the same if they are there."""
        if not need.clocks:
            is_watched = bool(stored) or any(cell.clock_odd for cell in arrived.cells)
            return replace(need, clocks=True) if is_watched else need
        last = -1 if old is None else window_of(old.received)
        begun = sorted(start for start in arrived.windows if start not in stored and start <= last)
        if not begun or need.looked_up:
            return need
        # What came in the window in progress and was not odd lies near it; what is forgotten may lie anywhere.
        near = begun[0] - self._limit_ms(arrived.meter) - 1 if begun[0] == last else None
        return replace(need, looked_up=begun, behind=near)

    def judged(
        self,
        work: Work,
        meters: Mapping[str, Arrived],
        stored: Windows,
        new: Mapping[str, MeterState],
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        current = {meter: window_of(new[meter].received) for meter in meters}
        over = self._windows_over(work, meters.values(), stored, current)
        for alert in load_open(work, CLOCK, current):
            over.setdefault(
                alert.meter, current[alert.meter]
            )  # it may have ended, even if nothing odd came since
        if not over:
            return [], []
        scopes = [Scope(meter, CLOCK, "", start) for meter, start in over.items()]
        since = dict(over)
        for alert in load_alerts(work, scopes):
            since[alert.meter] = min(since[alert.meter], alert.started)
        windows: dict[str, list[ClockWindow]] = {meter: [] for meter in over}
        for (meter, _), window in load_clock_windows(work, since.items()).items():
            windows[meter].append(window)
        zone = self._limits.timezone
        return scopes, [
            alert
            for meter, own in windows.items()
            for alert in clock_alerts(meter, own, current[meter], self._limit_ms(meter), zone)
        ]

    def _windows_over(
        self, work: Work, meters: Iterable[Arrived], stored: Windows, current: Mapping[str, int]
    ) -> dict[str, int]:
        """Store the windows; returns for each meter the first that is over and was not judged on just these readings."""
        found: dict[str, int] = {}
        changed: dict[Key, ClockWindow] = {}
        void: list[Key] = []
        for arrived in meters:
            meter, known = arrived.meter, stored.get(arrived.meter, {})
            merged = {
                start: window + known[start] if start in known else window
                for start, window in arrived.windows.items()
            }
            known = known | merged | arrived.windows_before
            over = [start for start in known if start < current[meter]]
            if over:
                found[meter] = min(over)
            right = {start for start in over if not known[start].is_wrong(self._limit_ms(meter))}
            void += [(meter, start) for start in right]
            changed |= {(meter, start): known[start] for start in known if start not in right}
        if changed or void:
            save_clock_windows(work, changed, void)
        return found

    def _limit_ms(self, meter: str) -> int:
        return self._limits.settings(meter).clock_seconds * 1000
