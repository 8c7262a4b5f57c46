"""What the pass over arrivals does with its meters: each one's newest reading, push interval, clock and silence.

It runs on the executors, sees every reading once, in the order in which the lake got them, and knows nothing of energy.
"""

import time
from collections.abc import Iterable, Mapping, Sequence

from strom.pipeline import latest
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.clocks import Clocks
from strom.pipeline.alerts.silence import Silences
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.process.arrived import Arrived
from strom.pipeline.process.needs import ArrivalsNeed
from strom.settings import Settings
from strom.store.meter_tables import load_states
from strom.store.writes import Work

_NOTHING = ArrivalsNeed()


class Arrivals:
    """`by_arrival`: whether readings come in the order of their arrival; only then can they tell who was silent."""

    def __init__(self, settings: Settings, *, watches: bool, by_arrival: bool) -> None:
        limits = Limits(settings)
        self._clocks = Clocks(limits)
        self._silences = Silences(limits)
        self._watches = watches
        self._by_arrival = by_arrival

    def evaluate(
        self, work: Work, outbox: Outbox, rows: Iterable[Sequence[str]], asked: Mapping[str, str]
    ) -> dict[str, str]:
        """Take in what arrived; returns the meters that wait, with what they need. `asked`: what they have waited for."""
        meters = {row[0]: Arrived(*row) for row in rows}
        old = load_states(work, meters)
        now_ms = time.time_ns() // 1_000_000
        new = {meter: latest.next_state(old.get(meter), each.cells, now_ms) for meter, each in meters.items()}
        windows = self._clocks.stored(work, meters, old) if self._watches else {}
        waiting = {}
        if self._watches:
            for meter, each in meters.items():
                need = ArrivalsNeed.parsed(asked[meter]) if meter in asked else _NOTHING
                wanted = self._clocks.lacks(each, windows.get(meter, {}), old.get(meter), need)
                if self._by_arrival:
                    wanted = self._silences.lacks(each, old.get(meter), new[meter], wanted)
                if wanted != need:
                    waiting[meter] = wanted.text()
            meters = {meter: each for meter, each in meters.items() if meter not in waiting}
            new = {meter: state for meter, state in new.items() if meter not in waiting}
        if not meters:
            return waiting
        latest.write_latest(work, outbox, meters, new)
        if self._watches:
            found = [self._clocks.judged(work, meters, windows, new)]
            if self._by_arrival:
                found.append(self._silences.ended(work, meters, old, new, now_ms))
            watch.write_alerts(work, outbox, found)
        return waiting
