"""The fleet's sums, kept with each reading: nobody walks over all meters to tell what they do now.

A meter that may fall silent is looked at when its time is over, not every second. It knows no reading.
"""

import heapq
from typing import Protocol

from strom.serve.curve import Power


class Summed(Protocol):
    """What the sums need of a meter; the last three belong to them."""

    @property
    def power_until_ms(self) -> int: ...

    live_until_ms: int
    counted: Power | None  # the power that is in the sums
    counted_live: bool
    due_s: int  # when it is looked at next; 0 is never


class FleetTotals:
    """Sums over the meters that are not silent."""

    def __init__(self) -> None:
        self.live = self.telling = self.import_mw = self.export_mw = self.drawing = self.feeding = 0
        self._due: dict[int, list[Summed]] = {}
        self._seconds: list[int] = []  # a heap of the keys

    def set_power(self, meter: Summed, power: Power, until_ms: int) -> None:
        """Its newest power, which counts until then: its `power_until_ms`."""
        before = meter.counted
        if before != power:
            if before is not None:
                self._count(before, -1)
            self._count(power, 1)
            meter.counted = power
        if not 0 < meter.due_s <= until_ms // 1000:
            self._look_at(meter, until_ms)

    def set_live(self, meter: Summed) -> None:
        """It was heard, and is live until `live_until_ms`."""
        if not meter.counted_live:
            meter.counted_live = True
            self.live += 1
        if not 0 < meter.due_s <= meter.live_until_ms // 1000:
            self._look_at(meter, meter.live_until_ms)

    def expire(self, now_ms: int) -> None:
        """Take out those whose time is over."""
        now_s = now_ms // 1000
        waiting: list[Summed] = []
        while self._seconds and self._seconds[0] <= now_s:
            second = heapq.heappop(self._seconds)
            for meter in self._due.pop(second):
                if meter.due_s == second:
                    meter.due_s = 0
                    self._expire(meter, now_ms)
                    waiting.append(meter)
        for meter in waiting:
            if meter.counted is not None:
                self._look_at(meter, meter.power_until_ms)
            if meter.counted_live:
                self._look_at(meter, meter.live_until_ms)

    def _expire(self, meter: Summed, now_ms: int) -> None:
        if meter.counted is not None and meter.power_until_ms <= now_ms:
            self._count(meter.counted, -1)
            meter.counted = None
        if meter.counted_live and meter.live_until_ms <= now_ms:
            meter.counted_live = False
            self.live -= 1

    def _look_at(self, meter: Summed, at_ms: int) -> None:
        second = at_ms // 1000
        if meter.due_s and meter.due_s <= second:
            return  # whoever is looked at earlier is noted anew then
        meter.due_s = second
        due = self._due.get(second)
        if due is None:
            self._due[second] = [meter]
            heapq.heappush(self._seconds, second)
        else:
            due.append(meter)

    def _count(self, power: Power, sign: int) -> None:
        import_mw, export_mw = power
        self.telling += sign
        self.import_mw += sign * import_mw
        self.export_mw += sign * export_mw
        if import_mw > export_mw:
            self.drawing += sign
        elif import_mw < export_mw:
            self.feeding += sign
