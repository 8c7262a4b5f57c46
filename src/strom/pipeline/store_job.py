"""Takes micro-batches of `readings` into the lake, the tables and the topics, each reading once.

The order makes it so: the lake has it first (its commit tells what it covers), then one transaction over all tables with
the marks of what was taken in is committed; Kafka confirms what is told before that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from strom.domain.alerts import SILENT, Alert
from strom.domain.day_habits import EXPORT, NIGHT
from strom.pipeline import cells as native
from strom.pipeline import latest, profile_rows
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.clocks import Clocks
from strom.pipeline.alerts.day_habits import DayHabits
from strom.pipeline.alerts.habits import Spikes
from strom.pipeline.alerts.runs import Runs
from strom.pipeline.alerts.silence import Silences, arrivals, lasting
from strom.pipeline.alerts.voltage import Voltages
from strom.pipeline.beside import Beside
from strom.pipeline.fresh import Reached, each_once, fresh_readings, reached_marks, unmarked
from strom.pipeline.garbage import uncollected
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.lake.commit_marks import later_marks, moved
from strom.pipeline.late import counts, set_aside, take_back, too_late
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox, SilentOutbox
from strom.pipeline.portions import is_large, portions
from strom.pipeline.profile import update_series
from strom.pipeline.profile_rows import Changed
from strom.pipeline.readings import ALL_FIELDS
from strom.pipeline.series import Cell, Update
from strom.pipeline.stages import STORE_STAGES, with_needed
from strom.pipeline.statistics import update_statistics
from strom.pipeline.strangers import Strangers
from strom.pipeline.tariffs import update_tariffs
from strom.settings import Settings
from strom.store.alert_tables import load_open
from strom.store.mark_tables import LAKE, Mark, load_marks, save_marks
from strom.store.meter_tables import load_states
from strom.store.schema import ensure_schema
from strom.store.writes import PIPELINE, Work, Writer


@dataclass(frozen=True)
class _Asked:
    """What Spark is asked of some readings."""

    readings: DataFrame
    moments: DataFrame
    cells: DataFrame
    kept: DataFrame | None = None  # the cells, if they are held


class StoreJob:
    """One of it writes to a set of tables; `process` and `tick` may be called from different threads.

    `tells`: whether the topics are told. `by_arrival`: whether readings come in the order of their arrival, as they do
    live; only then can the batches tell who was silent. `alone` leaves out the stages that the given ones need: enough
    to measure one while nothing comes late.
    """

    def __init__(
        self,
        settings: Settings,
        spark: SparkSession,
        stages: Sequence[str] = STORE_STAGES,
        *,
        tells: bool = True,
        by_arrival: bool = True,
        alone: bool = False,
    ) -> None:
        self.stages = tuple(stages) if alone else with_needed(stages)
        self._spark = spark
        self._limits = Limits(settings)
        self._job = "+".join(self.stages)
        self._late_ms = settings.late_ms
        self._by_arrival = by_arrival
        self._was_large = False
        self._archive = Archive(spark, settings.lake_root, self._late_ms)
        self._voltages = Voltages(self._limits, self._archive)
        self._runs = Runs(self._limits, self._archive)
        self._clocks = Clocks(self._limits, self._archive)
        self._habits = (
            Spikes(self._limits), DayHabits(NIGHT, self._limits), DayHabits(EXPORT, self._limits),
        )  # fmt: skip
        self.strangers = Strangers(spark, settings)
        self._outbox, self._timer_outbox = (Outbox(settings) if tells else SilentOutbox() for _ in range(2))
        self._writer = Writer(settings.postgres_url, PIPELINE)
        self._timer_writer = Writer(settings.postgres_url, PIPELINE)
        ensure_schema(settings.postgres_url)
        self._writer.open()

    @property
    def fields(self) -> Sequence[str]:
        """What of a reading it needs: everything as soon as it is kept or shown."""
        return ALL_FIELDS if {"archive", "latest"} & set(self.stages) else native.FIELDS

    def process(self, batch: DataFrame, number: int) -> None:
        """Take in one micro-batch; repeating it changes nothing, whatever its number is then."""
        with self._writer.work() as work:
            before = load_marks(work, self._job)
            with held(fresh_readings(batch, before)) as fresh, self._asking(fresh) as asking:
                reached = reached_marks(fresh, self._late_ms)
                fresh = each_once(fresh) if reached.repeated else fresh
                with self._archived(work, fresh, reached, before):
                    if reached.count and self.stages != ("archive",):
                        timely = self._timely(work, fresh, reached.late)
                        asked = asking.result() if asking is not None else None
                        if asked is None or asked.readings is not timely:
                            asked = self._ask(timely)
                        self._tables(work, asked, reached.count)
                self._outbox.confirm()
                save_marks(work, self._job, reached.marks)
        self._was_large = is_large(reached.count)
        self.strangers.took(number, reached.count)

    def take_again(self, read: Callable[[], DataFrame], also: Callable[[Work], None]) -> None:
        """Take in readings that the lake holds, whether the tables have them or not: the same code, no marks.

        `read` is asked when nobody else writes these tables any more; `also` ends the same transaction.
        """
        with self._writer.work() as work, held(read()) as readings:
            count, late = counts(readings, self._late_ms)
            take_back(work, readings, self._late_ms)
            self._tables(work, self._ask(self._timely(work, readings, late)), count, again=True)
            self._outbox.confirm()
            also(work)

    def _timely(self, work: Work, readings: DataFrame, late: int) -> DataFrame:
        """Without those that came too late, which are set aside."""
        if not late:
            return readings
        set_aside(work, readings, self._late_ms)
        return readings.where(~too_late(self._late_ms))

    @contextmanager
    def _archived(self, work: Work, fresh: DataFrame, reached: Reached, before: list[Mark]) -> Iterator[None]:
        """The lake takes the readings in beside the block: it is written by Spark while the tables wait for Python and Postgres.

        The lake is one, whichever stages run together: what another job of ours has put there stays out, also if it was
        killed before it could save its marks.
        """
        if "archive" not in self.stages:
            yield
            return
        stored = load_marks(work, LAKE)
        lake = later_marks(stored, self._archive.newest_marks())
        if not set(lake) <= set(before):
            fresh = unmarked(fresh, lake)
            reached = reached_marks(fresh)
        marks = moved(lake, reached.marks)
        with self._archive.appending(fresh, reached.count, marks):
            yield
        save_marks(work, LAKE, [*(set(lake) - set(stored)), *marks])

    def tick(self, now_ms: int, caught_up: bool) -> None:
        """Find what time alone tells. With a backlog nothing can be said: the messages may just not be read yet."""
        if "watch" not in self.stages or not caught_up:
            return
        with self._timer_writer.work() as work:
            watch.write_alerts(work, self._timer_outbox, [((), lasting(work, now_ms, self._limits))])
            self._timer_outbox.confirm()

    def write_alerts(self, find: Callable[[Work], Sequence[Alert]]) -> None:
        """Alerts that neither a batch nor the clock tells."""
        with self._writer.work() as work:
            watch.write_alerts(work, self._outbox, [((), find(work))])
            self._outbox.confirm()

    def told(self) -> dict[str, int]:
        """How many records each topic was told."""
        return dict(self._outbox.told)

    def close(self) -> None:
        self._writer.close()
        self._timer_writer.close()

    def _ask(self, readings: DataFrame) -> "_Asked":
        moments = native.moments(readings)
        return _Asked(readings, moments, native.cells(moments, self._limits))

    @contextmanager
    def _asking(self, readings: DataFrame) -> Iterator["Beside[_Asked] | None"]:
        """Plans for the cells while Spark reads the readings, if the batch is likely to be large, as the last one was."""
        if not self._was_large or self.stages == ("archive",):
            yield None
            return
        with ExitStack() as kept:

            def plan() -> _Asked:
                asked = self._ask(readings)
                return replace(asked, kept=kept.enter_context(held(asked.cells)))

            planning = Beside(plan, "strom-plan")
            try:
                yield planning
            finally:
                planning.join()

    def _tables(self, work: Work, asked: "_Asked", count: int, *, again: bool = False) -> None:
        """`again`: also what is as it was is judged by the rules that hold now."""
        with uncollected():
            for portion in portions(asked.cells, count, asked.kept):
                if portion.cells:
                    self._portion(
                        work, portion.of(asked.readings), portion.of(asked.moments), portion.cells, again
                    )

    def _portion(
        self, work: Work, fresh: DataFrame, moments: DataFrame, cells: Sequence[Cell], again: bool
    ) -> None:
        own = latest.by_meter(cells)
        old = load_states(work, own)
        new = {meter: latest.next_state(old.get(meter), cells) for meter, cells in own.items()}
        if "latest" in self.stages:
            latest.write_latest(work, self._outbox, own, latest.newest_readings(fresh), new)
        if "profile" in self.stages:
            others = update_statistics(work, own, old, self._archive)
            updates = update_series(work, moments, cells, self._archive, self._limits)
            intervals = {meter: state.interval_s for meter, state in new.items()}
            written = profile_rows.write_rows(work, self._outbox, updates, intervals)
            profile_rows.tell_statistics(work, self._outbox, others - written.changed.keys())
            profile_rows.write_gaps(work, updates)
            update_tariffs(work, fresh, cells, self._archive, self._limits, intervals)
            if "watch" in self.stages:
                rows = written.judged if again else written.changed
                self._watch(work, (fresh, moments), own, (old, new), (updates, rows))

    def _watch(
        self,
        work: Work,
        frames: tuple[DataFrame, DataFrame],
        own: Mapping[str, Any],
        states: Any,
        profile: tuple[Sequence[Update], Changed],
    ) -> None:
        fresh, moments = frames
        old, new = states
        updates, changed = profile
        found = [
            self._voltages.judged(work, own, old, new),
            watch.counter_falls(updates, self._limits),
            watch.counter_jumps(updates, self._limits),
            self._runs.judged(work, moments, own, old),
            self._clocks.judged(work, fresh, own, old, new),
            *(habit.judged(work, changed, new) for habit in self._habits),
        ]
        if self._by_arrival:
            silences = Silences(self._limits, load_open(work, SILENT))
            found.append(silences.ended(own, old, new, lambda meters: arrivals(fresh, meters)))
        watch.write_alerts(work, self._outbox, found)
