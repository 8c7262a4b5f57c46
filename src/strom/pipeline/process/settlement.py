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
from strom.domain.slots import slot_of
from strom.domain.tariffs import Tariff, meter_of
from strom.pipeline import profile_rows
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.day_habits import DayHabits
from strom.pipeline.alerts.habits import Spikes
from strom.pipeline.alerts.runs import Runs
from strom.pipeline.alerts.voltage import Voltages
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.process.folded import Cell, Folded
from strom.pipeline.process.late_windows import LateWindow, closed_windows, spans_of
from strom.pipeline.process.needs import SettlementNeed, WindowNeed
from strom.pipeline.series import BEFORE_ALL, Task, Update, tasks_of
from strom.pipeline.statistics import update_statistics
from strom.pipeline.tariffs import write_tariffs
from strom.settings import Settings
from strom.store.meter_tables import load_states
from strom.store.position_tables import Settled, load_settled, save_settled
from strom.store.run_tables import Key as RunKey
from strom.store.run_tables import load_open_runs, load_runs
from strom.store.segment_tables import (
    Around,
    Key,
    Tail,
    load_anchors,
    load_around,
    load_tails,
    save_series,
    series_name,
)
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
            each.meter: _Meter(
                each, asked.get(each.meter), self._limits.energy(each.meter), to_end=self._again
            )
            for each in came
            if each.meter in asked or each.cells()
        }
        self._load(work, meters)
        ready, waiting = [], {}
        for name, meter in meters.items():
            if meter.is_unchanged:
                continue
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
        late = {name: first for name, meter in meters.items() if (first := meter.first_late) is not None}
        if not late:
            return
        for run_key, runs in (load_runs(work, late.items()) if self._watches else {}).items():
            meters[run_key[0]].touched[run_key] = runs
        wanted = [each for name in late for each in meters[name].lates()]
        around = load_around(work, wanted) if wanted else {}
        for name in late:
            meters[name].divide(around)
        back = [(key, meters[name].late or 0) for name in late for key in meters[name].late_series()]
        anchors = load_anchors(work, back) if back else {}
        for name in late:
            meters[name].go_back(anchors)
            meters[name].absorb()

    def _write(self, work: Work, outbox: Outbox, meters: Sequence["_Meter"]) -> None:
        added = {meter.name: meter.cells for meter in meters if meter.late is None}
        old = {meter.name: meter.settled for meter in meters if meter.settled is not None}
        new = {meter.name: meter.reached() for meter in meters}
        save_settled(work, new)
        intervals = {name: state.interval_s for name, state in load_states(work, new).items()}
        others = update_statistics(work, added, {meter.name: meter.whole_slots() for meter in meters})
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
                    self._voltages.judged(
                        work, added, {meter.name: meter.whole_windows() for meter in meters}, old, new
                    ),
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
    """What came of a meter, and what the tables say of it.

    Late readings that lie far behind the rest are made anew in `windows` of their own; from `late` on all is made anew.
    """

    def __init__(self, folded: Folded, asked: str | None, rules: Rules, *, to_end: bool) -> None:
        """`to_end`: what late readings touch is made anew to its end, also where that changes nothing."""
        self.folded = folded
        self.name = folded.meter
        self.cells = folded.cells()
        self.need = SettlementNeed.parsed(asked) if asked else None
        self.settled: Settled | None = None
        self.tails: dict[Key, Tail] = {}
        self.runs: dict[RunKey, Run] = {}  # those that are open
        self.touched: dict[RunKey, list[Run]] = {}  # those that late readings may change
        self.late: int | None = None
        self.windows: Sequence[LateWindow] = ()
        self._spans: list[tuple[int, int]] = []  # of late readings that may have a window of their own
        self._stored: Mapping[Key, Tail] = {}
        self._replaced_after: dict[Key, int] = {}
        self._rules = rules
        self._to_end = to_end
        self._tasks: list[Task] = []
        self._updates: list[Update] = []
        if self.need is not None:
            self.late = self.need.first if self.need.late else None
            self._spans = [(window.first, window.last) for window in self.need.windows]

    @property
    def newest(self) -> int:
        return self.settled.newest if self.settled else -1

    def place(self, settled: Settled) -> None:
        """Put it behind, or among, what is settled."""
        self.settled = settled
        if self.need is None:
            self._leave_out_repeat(settled)
            late = [cell for cell in self.cells if (cell.first_t or 0) <= settled.newest]
            self._spans = spans_of(late)
            odd = [cell.last_t for cell in late if cell.odd or self._to_end]
            if odd:
                self._read_on_from(next(first for first, last in self._spans if last >= odd[0]))

    def _leave_out_repeat(self, settled: Settled) -> None:
        """The newest reading may come again, by another door or from a clock that stands, and tells nothing then."""
        again = (
            []
            if self._to_end
            else [cell for cell in self.cells if cell.repeats(settled.newest, settled.last)]
        )
        for cell in again:
            self.folded.leave_out(cell)
            self.cells.remove(cell)

    @property
    def is_unchanged(self) -> bool:
        """Nothing came of it that is new."""
        return self.need is None and not self.cells

    def reached(self) -> Settled:
        """What it is settled up to, with what came."""
        newest = self.cells[-1] if self.cells else None
        if newest is None or newest.last_t is None or newest.last_t < self.newest:
            return self.settled or Settled(self.newest)
        return Settled(newest.last_t, newest.last)

    @property
    def first_late(self) -> int | None:
        """Its earliest late reading."""
        return self._spans[0][0] if self._spans else self.late

    def lates(self) -> Iterable[tuple[Key, int, int]]:
        """The late readings that each series may have."""
        for first, last in self._spans:
            for key, tail in self.tails.items():
                if tail.seen >= first:
                    yield key, first, last

    def divide(self, around: Mapping[tuple[Key, int], Around]) -> None:
        """Tell the windows that are made anew by themselves; from the first late reading without one on all is."""
        self._stored = dict(self.tails)
        windows = [LateWindow.among(first, last, self.tails, around) for first, last in self._spans]
        if self.need is None:
            runs = [run for own in self.touched.values() for run in own]
            closed = closed_windows(
                windows, [window.is_closed(self.newest, self.tails, runs) for window in windows]
            )
            if closed < len(windows):
                self._read_on_from(windows[closed].first)
            windows = windows[:closed]
        self.windows = windows
        self._forget_runs()

    def _read_on_from(self, first: int) -> None:
        self.late = first if self.late is None else min(first, self.late)
        self._spans = [span for span in self._spans if span[0] < first]

    def _forget_runs(self) -> None:
        """Those that no late reading touches."""
        late = self.late
        some = {
            key: [run for run in own if late is not None and (run.until is None or run.until >= late)]
            for key, own in self.touched.items()
        }
        self.touched = {key: own for key, own in some.items() if own}

    def absorb(self) -> None:
        """Windows that reach into what is read to the end are part of it."""
        while self.windows and self.late is not None:
            starts = [_whole(self.late), *self._replaced_after.values()]
            if self.windows[-1].end <= min(starts):
                return
            self._reopen(self.windows[-1])

    def _reopen(self, window: LateWindow) -> None:
        """From this window on all is made anew."""
        self.late = window.first
        self.windows = [each for each in self.windows if each.first < window.first]
        self.tails = dict(self._stored)
        self._replaced_after = {}
        self.go_back({key: rejoin.anchor for key, rejoin in window.around.items()})

    def late_series(self) -> list[Key]:
        late = self.late
        return [] if late is None else [key for key, tail in self.tails.items() if tail.seen >= late]

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
        if self.need is not None and (changed := self._update_windows()) is not None:
            self._reopen(changed)
            self.absorb()
            return self._late_need(changed.first if self.late is None else self.late)
        late_until = slot_of(self.newest) if self.need is None and self.windows else 0
        for owner, cells in self.folded.series():
            own = [cell for cell in cells if cell.start >= late_until]
            self._tasks += tasks_of(owner, own, self.tails, self._replaced_after)
        has_enough = not self.has_runs and all(task.is_one_step(self._rules) for task in self._tasks)
        if self.need is None and self.windows:
            return SettlementNeed(
                self.windows[0].first,
                each=not has_enough,
                windows=_needs(self.windows),
                behind=self.newest,
                tariffs=self._has_tariffs,
            )
        if has_enough or (self.need is not None and self.need.each):
            return None
        need = self.need or SettlementNeed(
            self.cells[0].first_t or 0, behind=self.newest, tariffs=self._has_tariffs
        )
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
        return self._updates + [
            task.merged(self._rules)
            if task.is_one_step(self._rules)
            else task.walked(self._points(task), self._rules)
            for task in self._tasks
        ]

    def whole_slots(self) -> list[Cell]:
        """All cells of the quarter-hours that late readings lie in."""
        own = [] if self.late is None else self.cells
        return [
            *(cell for part, each in self._parts() for cell in each.in_slots(self.folded.cells(part))),
            *own,
        ]

    def whole_windows(self) -> list[Cell]:
        """All cells of the ten minutes of voltages that late readings lie in."""
        own = [] if self.late is None else self.cells
        return [
            *(cell for part, each in self._parts() for cell in each.in_windows(self.folded.cells(part))),
            *own,
        ]

    def _parts(self) -> Iterable[tuple[int, LateWindow]]:
        return enumerate(self.windows, 1)

    def _update_windows(self) -> LateWindow | None:
        """Bring its windows up to date; returns one after which more is another now than lies in it."""
        for part, window in self._parts():
            found = window.updates(self.folded, part, self._rules)
            if found is None:
                return window
            self._updates += found
        return None

    @property
    def _has_tariffs(self) -> bool:
        """Whether any of its readings may count by tariff."""
        if self.need is not None:
            return self.need.tariffs
        return any(cell.has_tariffs for cell in self.cells) or any(
            isinstance(owner, Tariff) for owner, _ in self._stored or self.tails
        )

    def _points(self, task: Task) -> Sequence[Point]:
        owner, direction = task.key
        tariff = owner.number if isinstance(owner, Tariff) else None
        since = self.need.after(series_name(task.key)) if self.need else -1
        return self.folded.points(direction, tariff, task.measure, since)

    def _late_need(self, first: int) -> SettlementNeed:
        # A series that is not made anew has ended before: however long ago, nothing of it lies between.
        since = {
            series_name(key): tail.seen if key in self._replaced_after else max(tail.seen, first - 1)
            for key, tail in self.tails.items()
        }
        since |= {series_name(key): -1 for key in self._replaced_after if key not in self.tails}
        return SettlementNeed(
            first,
            late=True,
            each=bool(self.touched),
            since=_whole(first) - 1,
            series=since,
            otherwise=first - 1,
            runs=min(self.runs_again.values()) if self.touched else None,
            windows=_needs(self.windows),
            tariffs=self._has_tariffs,
        )


def _whole(time: int) -> int:
    """A quarter-hour and ten minutes of voltages begin here."""
    return time - time % _WHOLE_MS


def _needs(windows: Iterable[LateWindow]) -> list[WindowNeed]:
    return [
        WindowNeed(
            window.first,
            window.last,
            window.begin,
            window.end,
            {series_name(key): rejoin.anchor.last_t for key, rejoin in window.around.items()},
        )
        for window in windows
    ]
