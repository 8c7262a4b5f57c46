"""Curves of the last hour: each meter's own points and the fleet's sum per second.

A late or repeated reading gives the same curve as one in order. They know neither where readings come from
nor what time it is.
"""

from array import array
from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

WINDOW_MS = 3_600_000
_MILLI = 1000  # watts are kept as whole milliwatts, so that adding and taking away leaves nothing behind

# While meters drop out of the sum or come back, it tells who is counted and not what is drawn: a point that
# counts fewer than this share of the meters of the seconds around it is a gap, not a spike.
WHOLE_SHARE = 0.9
AROUND_SECONDS = 15

# A point's stamp: its time, and below it for how many seconds its value may be held. Stamps sort by time.
_HOLD_BITS = 20
_LONGEST_HOLD_S = (1 << _HOLD_BITS) - 1

Point = tuple[int, float | None]  # epoch ms, watts; None is a gap


class Power(NamedTuple):
    """What a meter draws and feeds in at one moment, in milliwatts; whoever sends neither has none: that is not zero."""

    import_mw: int
    export_mw: int

    @property
    def net_w(self) -> float:
        return (self.import_mw - self.export_mw) / _MILLI


class FleetCurve:
    """The sum of what all meters draw less what they feed in, second by second.

    A meter's value counts from its second until the next one or until it is stale. Only the changes are kept,
    so a reading costs the same whether there are ten meters or ten thousand.
    """

    def __init__(self) -> None:
        self._start = 0  # everything up to here is folded into _base
        self._base = [0, 0]  # net milliwatts, meters
        self._changes: dict[int, list[int]] = {}

    def change(self, at_ms: int, net_mw: int, meters: int) -> None:
        """From this second on the sum is larger by so much and counts so many meters more."""
        second = at_ms // 1000
        found = self._base if second <= self._start else self._changes.get(second)
        if found is None:
            self._changes[second] = [net_mw, meters]
        else:
            found[0] += net_mw
            found[1] += meters

    def hold(self, net_mw: int, start_ms: int, end_ms: int, sign: int = 1) -> None:
        """Count this power from start to end; with sign −1 take back what was counted."""
        self.change(start_ms, sign * net_mw, sign)
        self.change(end_ms, -sign * net_mw, -sign)

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
        net, meters = self._base
        sums: list[tuple[int, int]] = []
        for second in range(self._start + 1, last + 1):
            change = self._changes.get(second)
            if change is not None:
                net, meters = net + change[0], meters + change[1]
            if second >= first:
                sums.append((net, meters))
        return sums


class MeterCurve:
    """The points of one meter in order of time, each with the seconds for which it may be held: 16 bytes a point."""

    __slots__ = ("_fleet", "_nets", "_stamps", "_trimmed_to", "disordered", "last")

    def __init__(self, fleet: FleetCurve) -> None:
        self._fleet = fleet
        self._stamps = array("q")
        self._nets = array("q")  # milliwatts
        self._trimmed_to = 0
        self.last: Power | None = None  # of the newest point
        self.disordered = False  # a point went between others since somebody last reset this

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def last_at(self) -> int:
        return self._stamps[-1] >> _HOLD_BITS if self._stamps else 0

    @property
    def last_end(self) -> int:
        if not self._stamps:
            return 0
        stamp = self._stamps[-1]
        return (stamp >> _HOLD_BITS) + (stamp & _LONGEST_HOLD_S) * 1000

    def add(self, at_ms: int, power: Power, end_ms: int) -> bool:
        """Put a point in its place; False if one of that time is there already or its time is forgotten.

        It counts to the end of the second after `at_ms` that reaches `end_ms`, if nothing follows.
        """
        hold_s = min(max(0, (end_ms - at_ms + 999) // 1000), _LONGEST_HOLD_S)
        net = power.import_mw - power.export_mw
        stamps, stamp = self._stamps, at_ms << _HOLD_BITS | hold_s
        if stamps and at_ms <= self.last_at:
            return self._insert(at_ms, stamp, net)
        fleet = self._fleet
        before_end = self.last_end
        if before_end > at_ms:  # the sum goes on from the value before
            before = self._nets[-1]
            fleet.change(before_end, before, 1)
            fleet.change(at_ms, net - before, 0)
        else:
            fleet.change(at_ms, net, 1)
        fleet.change(at_ms + hold_s * 1000, -net, -1)
        stamps.append(stamp)
        self._nets.append(net)
        self.last = power
        return True

    def trim(self, before_ms: int, most: int) -> None:
        """Drop what is older, and the oldest beyond `most`; the last two stay, they tell the interval."""
        length = len(self._stamps)
        if length <= most and (not length or self._stamps[0] >= before_ms << _HOLD_BITS):
            return
        count = min(max(self._index(before_ms), length - most), length - 2)
        if count > 0:
            self._trimmed_to = self._time(count)
            del self._stamps[:count]
            del self._nets[:count]

    def points(self, from_ms: int, to_ms: int) -> list[Point]:
        """The points in that time, with a None where the meter was silent longer than a value may be held."""
        found: list[Point] = []
        for index in range(self._index(from_ms), self._index(to_ms + 1)):
            at = self._time(index)
            found.append((at, self._nets[index] / _MILLI))
            follower = self._time(index + 1) if index + 1 < len(self) else to_ms
            if self._end(index) < follower:
                found.append((at + 1, None))
        return found

    def tail(self, to_ms: int) -> list[Point]:
        """The last point with the one before it, and the gap between them if there is one."""
        return self.points(self._time(max(0, len(self) - 2)), to_ms) if self._stamps else []

    def distances(self, most: int, then_ms: int | None = None) -> list[int]:
        """The last distances between points, in ms, as if one at `then_ms` followed."""
        times = [stamp >> _HOLD_BITS for stamp in self._stamps[-most - (then_ms is None) :]]
        if then_ms is not None:
            times.append(then_ms)
        return [later - earlier for earlier, later in pairwise(times) if later > earlier]

    def _insert(self, at_ms: int, stamp: int, net: int) -> bool:
        """Put a late point between the others."""
        index = self._index(at_ms)
        if at_ms < self._trimmed_to or self._time(index) == at_ms:
            return False
        if index:
            self._fleet.hold(self._nets[index - 1], self._time(index - 1), self._counts_until(index - 1), -1)
        self._stamps.insert(index, stamp)
        self._nets.insert(index, net)
        for place in (index - 1, index):
            if place >= 0:
                self._fleet.hold(self._nets[place], self._time(place), self._counts_until(place))
        self.disordered = True
        return True

    def _index(self, at_ms: int) -> int:
        """Of the first point that is not earlier."""
        return bisect_left(self._stamps, at_ms << _HOLD_BITS)

    def _time(self, index: int) -> int:
        return self._stamps[index] >> _HOLD_BITS

    def _end(self, index: int) -> int:
        stamp = self._stamps[index]
        return (stamp >> _HOLD_BITS) + (stamp & _LONGEST_HOLD_S) * 1000

    def _counts_until(self, index: int) -> int:
        end = self._end(index)
        return min(end, self._time(index + 1)) if index + 1 < len(self) else end
