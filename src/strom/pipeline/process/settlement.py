"""The pass over what is settled: quarter-hours, statistics, tariffs, and the alerts that follow from measurements.

It sees each reading when its time has come, many of a meter at once, so that a meter's Python runs once for a stretch of
time and not for every push. What comes behind that is late, and put in its place by the lake.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from strom.domain.day_habits import EXPORT, NIGHT
from strom.pipeline import cells as native
from strom.pipeline import latest, profile_rows
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.day_habits import DayHabits
from strom.pipeline.alerts.habits import Spikes
from strom.pipeline.alerts.runs import Runs
from strom.pipeline.alerts.voltage import Voltages
from strom.pipeline.garbage import uncollected
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.portions import portions
from strom.pipeline.profile import update_series
from strom.pipeline.series import Cell
from strom.pipeline.statistics import update_statistics
from strom.pipeline.tariffs import update_tariffs
from strom.store.meter_tables import load_states
from strom.store.position_tables import Settled, load_settled, save_settled
from strom.store.writes import Work


class SettlementPass:
    def __init__(self, limits: Limits, archive: Archive, *, watches: bool) -> None:
        self._limits = limits
        self._archive = archive
        self._watches = watches
        self._voltages = Voltages(limits, archive)
        self._runs = Runs(limits, archive)
        self._habits = (Spikes(limits), DayHabits(NIGHT, limits), DayHabits(EXPORT, limits))

    def evaluate(self, work: Work, outbox: Outbox, readings: DataFrame, *, again: bool = False) -> None:
        """`again`: also what is as it was is judged by the rules that hold now."""
        moments = native.moments(readings)
        with uncollected():
            for portion in portions(native.cells(moments, self._limits)):
                if portion.cells:
                    frames = portion.of(readings), portion.of(moments)
                    self._portion(work, outbox, frames, portion.cells, again)

    def _portion(
        self,
        work: Work,
        outbox: Outbox,
        frames: tuple[DataFrame, DataFrame],
        cells: Sequence[Cell],
        again: bool,
    ) -> None:
        readings, moments = frames
        own = latest.by_meter(cells)
        old = load_settled(work, own)
        new = {meter: _settled(old.get(meter), each) for meter, each in own.items()}
        save_settled(work, new)
        intervals = {meter: state.interval_s for meter, state in load_states(work, own).items()}
        others = update_statistics(work, own, old, self._archive)
        updates = update_series(work, moments, cells, self._archive, self._limits)
        written = profile_rows.write_rows(work, outbox, updates, intervals)
        profile_rows.tell_statistics(work, outbox, others - written.changed.keys())
        profile_rows.write_gaps(work, updates)
        update_tariffs(work, readings, cells, self._archive, self._limits, intervals)
        if self._watches:
            rows = written.judged if again else written.changed
            watch.write_alerts(
                work,
                outbox,
                [
                    self._voltages.judged(work, own, old, new),
                    watch.counter_falls(updates, self._limits),
                    watch.counter_jumps(updates, self._limits),
                    self._runs.judged(work, moments, own, old),
                    *(habit.judged(work, rows, new) for habit in self._habits),
                ],
            )


def _settled(old: Settled | None, own: Sequence[Cell]) -> Settled:
    return Settled(max([own[-1]["last_t"], *([old.newest] if old else [])]))
