"""What the pass over settled readings does with its meters: quarter-hours, statistics, tariffs, and the alerts from measurements.

It runs on the executors. Nearly all meters are brought forward by their cells alone; where a reading came late, does not
follow the one before it, or a run of odd ones is under way, the meter waits until the lake has been asked for more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from strom.domain.acceptance import Point
from strom.domain.day_habits import EXPORT, NIGHT
from strom.domain.run_kinds import RUN_KINDS
from strom.domain.runs import Run, touched_since
from strom.domain.segments import Rules, Segment
from strom.domain.tariffs import Owner, Tariff, meter_of
from strom.pipeline import profile_rows
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.day_habits import DayHabits
from strom.pipeline.alerts.habits import Spikes
from strom.pipeline.alerts.runs import Runs
from strom.pipeline.alerts.voltage import Voltages
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.process.folded import Folded, SeriesCell
from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.series import BEFORE_ALL, Task, Update, tasks_of
from strom.pipeline.statistics import update_statistics
from strom.pipeline.tariffs import write_tariffs
from strom.settings import Settings
from strom.store.meter_tables import load_states
from strom.store.position_tables import Settled, load_settled, save_settled
from strom.store.run_tables import Key as RunKey
from strom.store.run_tables import load_open_runs, load_runs
from strom.store.segment_tables import Key, Tail, load_anchors, load_tails, save_series, series_name
from strom.store.writes import Work

_WHOLE_MS = 1_800_000  # a multiple of a quarter-hour and of a window of voltages


class Settlement:
    """`again`: also what is as it was is judged by the rules that hold now."""

    def __init__(self, settings: Settings, *, watches: bool, again: bool) -> None:
        self._limits = Limits(settings)
        self._watches = watches
        self._again = again
        self._voltages = Voltages(self._limits)
        self._runs = Runs(self._limits)
        self._habits = (Spikes(self._limits), DayHabits(NIGHT, self._limits), DayHabits(EXPORT, self._limits))

    def evaluate(
        self, work: Work, outbox: Outbox, rows: Iterable[Sequence[str]], asked: Mapping[str, str]
    ) -> dict[str, str]:
        """Bring meters forward; returns those that wait, with what they need. `asked`: what they have waited for."""
        came = (Folded(*row) for row in rows)
        meters = {
            each.meter: _Meter(each, asked.get(each.meter), self._limits.energy(each.meter))
            for each in came
            if each.cells
        }
        self._load(work, meters)
        ready, waiting = [], {}
        for name, meter in meters.items():
            need = meter.lacks()
            if need is None:
                ready.append(meter)
            else:
                waiting[name] = need.text()
        if ready:
            self._write(work, outbox, ready)
        return waiting

    def _load(self, work: Work, meters: Mapping[str, "_Meter"]) -> None:
        for name, settled in load_settled(work, meters).items():
            meters[name].place(settled)
        for key, tail in load_tails(work, meters).items():
            meters[meter_of(key[0])].tails[key] = tail
        if self._watches:
            for run_key, run in load_open_runs(work, meters).items():
                meters[run_key[0]].runs[run_key] = run
        late = {name: first for name, meter in meters.items() if (first := meter.late) is not None}
        if not late:
            return
        series = [(key, first) for name, first in late.items() for key in meters[name].late_series()]
        anchors = load_anchors(work, series)
        touched = load_runs(work, late.items()) if self._watches else {}
        for name in late:
            meters[name].go_back(anchors)
        for run_key, runs in touched.items():
            meters[run_key[0]].touched[run_key] = runs

    def _write(self, work: Work, outbox: Outbox, meters: Sequence["_Meter"]) -> None:
        cells = {meter.name: meter.cells for meter in meters}
        late = {meter.name for meter in meters if meter.late is not None}
        old = {meter.name: meter.settled for meter in meters if meter.settled is not None}
        new = {meter.name: Settled(max(meter.cells[-1].last_t, meter.newest)) for meter in meters}
        save_settled(work, new)
        intervals = {name: state.interval_s for name, state in load_states(work, cells).items()}
        others = update_statistics(work, cells, late)
        series = [update for meter in meters for update in meter.updates()]
        if series:
            save_series(work, [update.change for update in series])
        updates = [update for update in series if not isinstance(update.key[0], Tariff)]
        written = profile_rows.write_rows(work, outbox, updates, intervals)
        profile_rows.tell_statistics(work, outbox, others - written.changed.keys())
        profile_rows.write_gaps(work, updates)
        write_tariffs(work, [update for update in series if isinstance(update.key[0], Tariff)], intervals)
        if self._watches:
            rows = written.judged if self._again else written.changed
            walked = [meter for meter in meters if meter.has_runs]
            watch.write_alerts(
                work,
                outbox,
                [
                    self._voltages.judged(work, cells, late, old, new),
                    watch.counter_falls(updates, self._limits),
                    watch.counter_jumps(updates, self._limits),
                    self._runs.judged(
                        work,
                        {meter.name: meter.folded.moments for meter in walked},
                        {
                            key: run
                            for meter in walked
                            if meter.late is None
                            for key, run in meter.runs.items()
                        },
                        {key: since for meter in walked for key, since in meter.runs_again.items()},
                    ),
                    *(habit.judged(work, rows, new) for habit in self._habits),
                ],
            )


class _Meter:
    """What came of a meter, and what the tables say of it."""

    def __init__(self, folded: Folded, asked: str | None, rules: Rules) -> None:
        self.folded = folded
        self.name = folded.meter
        # Where readings came late, some cells are there for the series alone.
        self.cells = [cell for cell in folded.cells if cell.first_t is not None]
        self.need = SettlementNeed.parsed(asked) if asked else None
        self.settled: Settled | None = None
        self.tails: dict[Key, Tail] = {}
        self.runs: dict[RunKey, Run] = {}  # those that are open
        self.touched: dict[RunKey, list[Run]] = {}  # those that late readings may change
        self._replaced_after: dict[Key, int] = {}
        self._rules = rules
        self._tasks: list[Task] = []
        self._first = min(cell.first_t for cell in self.cells if cell.first_t is not None)
        self.late = self.need.first if self.need is not None and self.need.late else None

    @property
    def newest(self) -> int:
        return self.settled.newest if self.settled else -1

    def place(self, settled: Settled) -> None:
        """Put it behind, or among, what is settled; `late` is its earliest reading if that is not behind it all."""
        self.settled = settled
        if self.need is None and self._first <= settled.newest:
            self.late = self._first

    def late_series(self) -> list[Key]:
        return [key for key, tail in self.tails.items() if tail.seen >= (self.late or 0)]

    def go_back(self, anchors: Mapping[Key, Segment]) -> None:
        """The late series stand again where nothing that is late can change them; what was dropped then is judged anew."""
        for key in self.late_series():
            tail, anchor = self.tails.pop(key), anchors.get(key)
            self._replaced_after[key] = anchor.slot if anchor else BEFORE_ALL
            if anchor:
                fresh = anchor._replace(trail=(), fall_t=None, jump_t=None)
                self.tails[key] = Tail(tail.measure, anchor.last_t, (), fresh)

    def lacks(self) -> SettlementNeed | None:
        """What has to be seen of it before it can be brought forward."""
        if self.need is None and self.late is not None:
            return self._late_need(self.late)
        for owner, cells in self._owners():
            self._tasks += tasks_of(owner, cells, self.tails, self._replaced_after)
        has_enough = not self.has_runs and all(task.is_one_step(self._rules) for task in self._tasks)
        if has_enough or (self.need is not None and self.need.each):
            return None
        need = self.need or SettlementNeed(self._first)
        return replace(need, each=True, runs=min(self.runs_again.values(), default=None))

    @property
    def has_runs(self) -> bool:
        """Whether its runs have to be looked at reading by reading."""
        under_way = self.runs if self.late is None else self.touched
        return bool(under_way) or any(cell.odd for cell in self.cells)

    @property
    def runs_again(self) -> dict[RunKey, int]:
        """From where on its runs are walked again."""
        late = self.late
        if late is None:
            return {}
        keys = [(self.name, kind.kind, kind.part) for kind in RUN_KINDS]
        return {key: touched_since(late, self.touched.get(key, ())) for key in keys}

    def updates(self) -> list[Update]:
        return [
            task.merged(self._rules)
            if task.is_one_step(self._rules)
            else task.walked(self._points(task), self._rules)
            for task in self._tasks
        ]

    def _owners(self) -> Iterable[tuple[Owner, Sequence[SeriesCell]]]:
        yield self.name, [cell.series for cell in self.folded.cells]
        for number, cells in self.folded.tariffs.items():
            yield Tariff(self.name, number), cells

    def _points(self, task: Task) -> Sequence[Point]:
        owner, direction = task.key
        tariff = owner.number if isinstance(owner, Tariff) else None
        since = self.need.after(series_name(task.key)) if self.need else -1
        return self.folded.points(direction, tariff, task.measure, since)

    def _late_need(self, first: int) -> SettlementNeed:
        since = {series_name(key): tail.seen for key, tail in self.tails.items()}
        since |= {series_name(key): -1 for key in self._replaced_after if key not in self.tails}
        return SettlementNeed(
            first,
            late=True,
            each=bool(self.touched),
            since=first - first % _WHOLE_MS - 1,
            series=since,
            otherwise=first - 1,
            runs=min(self.runs_again.values()) if self.touched else None,
        )
