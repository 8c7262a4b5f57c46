"""Meters whose clock is wrong, by windows of arrivals; a window is judged when it is over, as for the voltages.

Only meters that told an odd time, or did so in the window in progress, are summed up at all. Parts of a window are
joined as they come; what came before the first odd time of a window is looked up in the lake, as is a window that was over and forgotten.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import CLOCK, WINDOW_MS, Alert, window_of
from strom.domain.clock import ClockWindow, clock_alerts
from strom.domain.reading import CLOCK_METER, CLOCK_WRONG
from strom.pipeline.given import of_meters
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.series import Cell
from strom.store.alert_tables import Scope, load_alerts, load_open
from strom.store.clock_tables import Key, load_clock_windows, save_clock_windows
from strom.store.meter_tables import MeterState
from strom.store.writes import Work


class Clocks:
    def __init__(self, limits: Limits, archive: Archive) -> None:
        self._limits = limits
        self._archive = archive

    def judged(
        self,
        work: Work,
        fresh: DataFrame,
        cells: Mapping[str, Sequence[Cell]],
        old: Mapping[str, MeterState],
        new: Mapping[str, MeterState],
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        current = {meter: window_of(new[meter].received) for meter in cells}
        over = self._windows_over(work, fresh, cells, old, current)
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
        self,
        work: Work,
        fresh: DataFrame,
        cells: Mapping[str, Sequence[Cell]],
        old: Mapping[str, MeterState],
        current: Mapping[str, int],
    ) -> dict[str, int]:
        """Store the windows; returns for each meter the first that is over and was not judged on just these readings."""
        odd = {meter for meter, own in cells.items() if any(cell["clock_odd"] for cell in own)}
        last = {meter: window_of(old[meter].received) for meter in cells if meter in old}
        firsts = {
            meter: window_of(min(cell["received_first"] for cell in own)) for meter, own in cells.items()
        }
        since = {meter: min(first, last.get(meter, first)) for meter, first in firsts.items()}
        stored = load_clock_windows(work, since.items())
        meters = odd | {meter for meter, _ in stored}
        if not meters:
            return {}
        brought = _windows(of_meters(fresh, meters))
        begun = {key for key in brought if key not in stored and key[1] <= last.get(key[0], -1)}
        merged = {key: window + stored[key] if key in stored else window for key, window in brought.items()}
        known = stored | merged | self._from_lake(begun, last)
        over = {key for key in known if key[1] < current[key[0]]}
        right = {key for key in over if not known[key].is_wrong(self._limit_ms(key[0]))}
        save_clock_windows(work, {key: known[key] for key in known if key not in right}, right)
        found: dict[str, int] = {}
        for meter, start in sorted(over):
            found.setdefault(meter, start)
        return found

    def _from_lake(self, begun: set[Key], last: Mapping[str, int]) -> dict[Key, ClockWindow]:
        """Windows that are not stored although part of them came before."""
        if not begun:
            return {}
        since: dict[str, int | None] = {}
        for meter, start in sorted(begun):
            # What came in the window in progress and was not odd lies near it; what is forgotten may lie anywhere.
            near = start - self._limit_ms(meter) - 1 if start == last[meter] else None
            since.setdefault(meter, near)
        arrived = F.unix_millis("received")
        first, end = min(start for _, start in begun), max(start for _, start in begun) + WINDOW_MS
        rows = self._archive.read_since(since).where((arrived >= first) & (arrived < end))
        return {key: window for key, window in _windows(rows).items() if key in begun}

    def _limit_ms(self, meter: str) -> int:
        return self._limits.settings(meter).clock_seconds * 1000


def _windows(readings: DataFrame) -> dict[Key, ClockWindow]:
    """Readings that tell no time say nothing."""
    received = F.unix_millis("received")
    own = F.col("clock") == CLOCK_METER
    arrived, lag = F.when(own, received), F.when(own, received - F.unix_millis("at"))
    impossible = F.coalesce(F.array_contains("flags", CLOCK_WRONG), F.lit(False))
    rows = (
        readings.where(own | impossible)
        .groupBy("meter", (received - received % WINDOW_MS).alias("window"))
        .agg(F.min(arrived), F.max(arrived), F.min(lag), F.max(lag), F.max(impossible))
        .collect()
    )
    return {(row[0], row[1]): ClockWindow(*row[1:]) for row in rows}
