"""Curves of the last hour: each meter's own points and the fleet's sum per second.

A late or repeated reading gives the same curve as one in order. They know neither where readings come from
nor what time it is.
"""

from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

WINDOW_MS = 3_600_000
_MILLI = 1000  # watts are kept as whole milliwatts, so that adding and taking away leaves nothing behind

# While meters drop out of the sum or come back, it tells who is counted and not what is drawn: a point that
# counts fewer than this share of the meters of the seconds around it is a gap, not a spike.
WHOLE_SHARE = 0.9
AROUND_SECONDS = 15

Point = tuple[int, float | None]  # epoch ms, watts; None is a gap


class Power(NamedTuple):
    """What a meter draws and feeds in at one moment, in milliwatts."""

    import_mw: int
    export_mw: int

    @classmethod
    def of(cls, import_w: float | None, export_w: float | None) -> "Power | None":
        """None when the reading carries no power at all: a missing value is not zero."""
        if import_w is None and export_w is None:
            return None
        return cls(round((import_w or 0) * _MILLI), round((export_w or 0) * _MILLI))

    @property
    def net_w(self) -> float:
        return (self.import_mw - self.export_mw) / _MILLI


class FleetCurve:
    """The sum of what all meters draw and feed in, second by second.

    A meter's value counts from its second until the next one or until it is stale. Only the changes are kept,
    so a reading costs the same whether there are ten meters or ten thousand.
    """

    def __init__(self) -> None:
        self._start = 0  # everything up to here is folded into _base
        self._base = [0, 0, 0]
        self._changes: dict[int, list[int]] = {}

    def hold(self, power: Power, start_ms: int, end_ms: int, sign: int = 1) -> None:
        """Count this power from start to end; with sign −1 take back what was counted."""
        if end_ms > start_ms:
            self._book(start_ms // 1000, power, sign)
            self._book(end_ms // 1000, power, -sign)

    def advance(self, now_ms: int) -> None:
        """Forget what lies more than a window back."""
        start = (now_ms - WINDOW_MS) // 1000
        for second in [second for second in self._changes if second <= start]:
            for index, change in enumerate(self._changes.pop(second)):
                self._base[index] += change
        self._start = max(self._start, start)

    def points(self, from_ms: int, to_ms: int) -> list[tuple[int, float | None, int]]:
        """(epoch ms, net watts or None where no meter counts, meters) for each second."""
        self.advance(to_ms)
        first = max(self._start + 1, from_ms // 1000 - AROUND_SECONDS)
        sums = self._sums(first, to_ms // 1000)
        counts = [count for _, count in sums]
        found: list[tuple[int, float | None, int]] = []
        for index in range(max(0, from_ms // 1000 - first), len(sums)):
            net, count = sums[index]
            most = max(counts[max(0, index - AROUND_SECONDS) : index + AROUND_SECONDS + 1])
            whole = count > 0 and count >= WHOLE_SHARE * most
            found.append(((first + index) * 1000, net / _MILLI if whole else None, count))
        return found

    def _sums(self, first: int, last: int) -> list[tuple[int, int]]:
        """Net milliwatts and meters for each second."""
        drawn, fed, meters = self._base
        sums: list[tuple[int, int]] = []
        for second in range(self._start + 1, last + 1):
            change = self._changes.get(second)
            if change is not None:
                drawn, fed, meters = drawn + change[0], fed + change[1], meters + change[2]
            if second >= first:
                sums.append((drawn - fed, meters))
        return sums

    def _book(self, second: int, power: Power, sign: int) -> None:
        change = self._base if second <= self._start else self._changes.setdefault(second, [0, 0, 0])
        change[0] += sign * power.import_mw
        change[1] += sign * power.export_mw
        change[2] += sign


class MeterCurve:
    """The points of one meter in order of time, each with the moment until which it may be held."""

    def __init__(self, fleet: FleetCurve) -> None:
        self._fleet = fleet
        self._times = array("q")
        self._imports = array("q")
        self._exports = array("q")
        self._ends = array("q")  # until when the point counts if nothing follows
        self._trimmed_to = 0

    def __len__(self) -> int:
        return len(self._times)

    @property
    def last(self) -> Power | None:
        return self._power(len(self) - 1) if self._times else None

    @property
    def last_end(self) -> int:
        return self._ends[-1] if self._ends else 0

    def add(self, at_ms: int, power: Power, end_ms: int) -> bool:
        """Put a point in its place; False if one of that time is there already or its time is forgotten."""
        index = bisect_left(self._times, at_ms)
        if at_ms < self._trimmed_to or (index < len(self) and self._times[index] == at_ms):
            return False
        if index:
            before = self._power(index - 1)
            self._fleet.hold(before, self._times[index - 1], self._counts_until(index - 1), -1)
        for values, value in (
            (self._times, at_ms),
            (self._imports, power.import_mw),
            (self._exports, power.export_mw),
            (self._ends, end_ms),
        ):
            values.insert(index, value)
        for place in (index - 1, index):
            if place >= 0:
                self._fleet.hold(self._power(place), self._times[place], self._counts_until(place))
        return True

    def trim(self, before_ms: int, most: int) -> None:
        """Drop what is older, and the oldest beyond `most`; the last two stay, they tell the interval."""
        count = max(bisect_left(self._times, before_ms), len(self) - most)
        count = min(count, len(self) - 2)
        if count > 0:
            self._trimmed_to = self._times[count]
            for values in (self._times, self._imports, self._exports, self._ends):
                del values[:count]

    def points(self, from_ms: int, to_ms: int) -> list[Point]:
        """The points in that time, with a None where the meter was silent longer than a value may be held."""
        found: list[Point] = []
        for index in range(bisect_left(self._times, from_ms), bisect_right(self._times, to_ms)):
            found.append((self._times[index], self._power(index).net_w))
            follower = self._times[index + 1] if index + 1 < len(self) else to_ms
            if self._ends[index] < follower:
                found.append((self._times[index] + 1, None))
        return found

    def tail(self, to_ms: int) -> list[Point]:
        """The last point with the one before it, and the gap between them if there is one."""
        return self.points(self._times[max(0, len(self) - 2)], to_ms) if self._times else []

    def distances(self, most: int, then_ms: int) -> list[int]:
        """The last distances between points, in ms, as if one at `then_ms` followed."""
        times = [*self._times[-most:], then_ms]
        return [later - earlier for earlier, later in pairwise(times) if later > earlier]

    def _power(self, index: int) -> Power:
        return Power(self._imports[index], self._exports[index])

    def _counts_until(self, index: int) -> int:
        end = self._ends[index]
        return min(end, self._times[index + 1]) if index + 1 < len(self) else end
