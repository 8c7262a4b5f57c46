"""Takes micro-batches of `readings` into the lake, and from there into the tables and the topics, each reading once.

The lake has a reading first. Two passes go over it at their own pace: one over what arrived, one over what is settled.
Their work is divided among the executors; this is the driver's part: when a pass runs, from where to where.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain import values
from strom.domain.alerts import Alert
from strom.domain.slots import slot_of
from strom.pipeline import cells as native
from strom.pipeline.alerts import watch
from strom.pipeline.alerts.silence import lasting
from strom.pipeline.fresh import each_once, fresh_readings, reached_marks
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive, StagedLake
from strom.pipeline.lake.intake import Intake
from strom.pipeline.late import counts, set_aside, take_back, too_late
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox, SilentOutbox
from strom.pipeline.process.pace import DutyCycle
from strom.pipeline.process.passes import Passes
from strom.pipeline.readings import ALL_FIELDS
from strom.pipeline.stages import STORE_STAGES, with_needed
from strom.pipeline.strangers import Strangers
from strom.settings import Settings
from strom.store.mark_tables import LAKE, TABLES, load_marks, save_marks
from strom.store.position_tables import (
    ARRIVALS,
    SETTLEMENT,
    LakePosition,
    Step,
    begin_step,
    end_step,
    is_interrupted,
    load_position,
    save_position,
)
from strom.store.schema import ensure_schema
from strom.store.writes import PIPELINE, Work, Writer

GRACE_MS = 10_000  # a reading that arrives longer than this after its time may come behind the settlement
SLOT_MARGIN_MS = 10_000  # behind a slot's end, so that the first reading of the next one completes it
LIVE_MS = 120_000  # what arrived longer ago is a backlog


class StoreJob:
    """One of it writes to a set of tables; `process` and `tick` may be called from different threads.

    `tells`: whether the topics are told. `by_arrival`: whether readings come in the order of their arrival, as they do
    live. `passes`: whether the passes run behind batches whenever they are due, or only by `settle`. `alone` leaves out
    the stages that the given ones need, and with them the lake: enough to measure one while nothing comes late. By `clock`
    (seconds) it is told when the passes are due.
    """

    def __init__(
        self,
        settings: Settings,
        spark: SparkSession,
        stages: Sequence[str] = STORE_STAGES,
        *,
        tells: bool = True,
        by_arrival: bool = True,
        passes: bool = True,
        alone: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stages = tuple(stages) if alone else with_needed(stages)
        self._job = "+".join(self.stages)
        self._limits = Limits(settings)
        self._late_ms = settings.late_ms
        self._archive = Archive(spark, settings.lake_root, self._late_ms)
        self._outbox = Outbox(settings) if tells else SilentOutbox()
        self._writer = Writer(settings.postgres_url, PIPELINE)
        self._intake = Intake(self._archive, self._writer, self._late_ms)
        watches = "watch" in self.stages
        self._over = Passes(
            settings, self._archive, self._writer, watches=watches, tells=tells, by_arrival=by_arrival
        )
        self._arrivals_pace = DutyCycle(share=0.25, most_seconds=20, clock=clock)
        self._settlement_pace = DutyCycle(share=0.15, clock=clock)
        self._passes = passes
        self.strangers = Strangers(spark, settings)
        self._lock = threading.Lock()
        self._begin(settings)

    def _begin(self, settings: Settings) -> None:
        self._arrived = 0  # the newest arrival that this process has appended
        self._watermark: int | None = None  # all that arrived before it is in the lake
        self._judged: int | None = None  # the watermark as of which silences were judged
        self._noted = -1  # the version of the lake that is noted as taken in
        self._newest: int | None = None  # the newest time of a reading in the lake; None: not known
        self._forget()
        ensure_schema(settings.postgres_url)
        self._writer.open()
        with self._writer.work() as work:
            self._position = {name: load_position(work, name) for name in (ARRIVALS, SETTLEMENT)}

    def _forget(self) -> None:
        """What others have appended is not known: whatever may have come, has."""
        self._version = -1  # of the lake, as this process left it
        self._forget_unsettled()

    def _forget_unsettled(self) -> None:
        """What of the lake's readings the passes have still to take is not known."""
        self._newest = None
        self._stragglers = True  # readings may have come behind the settlement
        self._too_late = True  # readings to be set aside may have come
        self._tariffs_ms: int | None = None  # before it readings may count by tariff; None: any may

    @property
    def fields(self) -> Sequence[str]:
        """What of a reading it needs: everything as soon as it is kept or shown."""
        return ALL_FIELDS if {"archive", "latest"} & set(self.stages) else native.FIELDS

    @property
    def archive(self) -> Archive:
        """Its lake."""
        return self._archive

    @property
    def settled_ms(self) -> int:
        """Readings before this time (epoch ms) are in the quarter-hours, those from it on wait for their time."""
        return self._position[SETTLEMENT].settled_ms

    def process(self, batch: DataFrame, number: int) -> None:
        """Take in one micro-batch; repeating it changes nothing, whatever its number is then."""
        with self._lock, self._writer.exclusive():
            if "archive" in self.stages:
                count = self._append(batch)
                self._pass_if_due()
            else:
                count = self._take_alone(batch)
        self.strangers.took(number, count)

    def settle(self, until_ms: int | None = None) -> None:
        """Take in what the lake got, and settle it up to a time; without one all of it, whether its time has come or not."""
        if "archive" in self.stages:
            with self._lock, self._writer.exclusive():
                self._note_others()
                self._pass_arrivals()
                self._settle(until_ms)
                self._note_taken_in()

    def skip_to_end(self) -> None:
        """Leave out what others have put into the lake: it lies before what the tables keep."""
        version = self._archive.version()
        with self._lock, self._writer.exclusive(), self._writer.work() as work:
            for name, position in self._position.items():
                self._position[name] = LakePosition(version, position.settled_ms)
                save_position(work, name, self._position[name])
        self._version = version

    def tick(self, watermark_ms: int | None) -> None:
        """Find what time alone tells: all that arrived before the watermark (epoch ms) is in the lake, None if that is not known.

        While a batch is under way it is done behind that batch.
        """
        if watermark_ms is not None:
            self._watermark = watermark_ms
        if "archive" in self.stages and self._lock.acquire(blocking=False):
            try:
                with self._writer.exclusive():
                    self._pass_if_due()
            finally:
                self._lock.release()

    def write_alerts(self, find: Callable[[Work], Sequence[Alert]]) -> None:
        """Alerts that neither a batch nor the clock tells."""
        with self._lock:
            self._write_alerts(find)

    def judge_silences(self, as_of_ms: int) -> None:
        """Who is silent as of this time, by the arrivals that were passed over."""
        with self._lock:
            self._write_alerts(lambda work: lasting(work, as_of_ms, self._limits))

    def take_again(
        self,
        read: Callable[[], DataFrame],
        also: Callable[[Work], None],
        *,
        only_settled: bool = False,
        staged: StagedLake | None = None,
    ) -> None:
        """Take in readings that the lake holds, whether the tables have them or not: the same code, no positions.

        `read` is asked when nobody else writes these tables any more; `also` ends the work. With `only_settled` the
        readings whose time has not come go on waiting. `staged` stands for the lake from a time on.
        """
        with self._lock, self._writer.exclusive():
            self._end_interrupted()
            with held(read()) as readings:
                self._take_again(readings, only_settled=only_settled, staged=staged)
            with self._writer.work() as work:
                also(work)

    def _take_again(self, readings: DataFrame, *, only_settled: bool, staged: StagedLake | None) -> None:
        _, late = counts(readings, self._late_ms)
        with self._writer.work() as work:
            until = load_position(work, SETTLEMENT).settled_ms if only_settled else None
        take_back(self._writer, readings, self._late_ms)
        if late:
            set_aside(self._writer, readings, self._late_ms)
        timely = readings.where(~too_late(self._late_ms)) if late else readings
        with self._archive.seen(staged=staged):
            self._over.arrivals(self._beside(f"{ARRIVALS}-again"), timely)
        with self._archive.seen(until_ms=until, staged=staged):
            due = timely if until is None else timely.where(F.unix_millis("at") < until)
            self._over.settlement(self._beside(f"{SETTLEMENT}-again"), due, again=True)

    def told(self) -> dict[str, int]:
        """How many records each topic was told."""
        return dict(self._outbox.told + self._over.told)

    def close(self) -> None:
        self._writer.close()

    def _append(self, batch: DataFrame) -> int:
        self._note_others()
        appended = self._intake.take(batch, self.settled_ms)
        self._arrived = max(self._arrived, appended.arrived or 0)
        self._stragglers = self._stragglers or appended.before > 0
        self._too_late = self._too_late or appended.too_late > 0
        if appended.has_tariffs and self._tariffs_ms is not None:
            self._tariffs_ms = max(self._tariffs_ms, self.settled_ms, appended.newest or 0)
        if self._newest is not None:
            self._newest = max(self._newest, appended.newest or 0)
        self._version = self._archive.version()
        return appended.count

    def _note_others(self) -> None:
        """Whether somebody else has committed to the lake since this process did."""
        version = self._archive.version()
        if version != self._version:
            self._forget()
            self._version = version

    def _pass_if_due(self) -> None:
        if not self._passes:
            return
        self._note_others()
        watermark = self._watermark
        if self._arrivals_pace.is_due() or self._position[ARRIVALS].version == self._archive.version():
            self._pass_arrivals()
            self._judge_as_of(watermark)
        arrived = min(self._arrived, _now_ms())  # of a door whose clock is ahead, see `_settle`
        until = max(arrived - GRACE_MS, (watermark or 0) - GRACE_MS, self.settled_ms)
        if self._has_unsettled() and self._settlement_is_due(until):
            self._settle(until)
        self._note_taken_in()

    def _judge_as_of(self, watermark: int | None) -> None:
        """The arrivals before it have been passed over."""
        if "watch" in self.stages and watermark is not None and watermark != self._judged:
            self._write_alerts(lambda work: lasting(work, watermark, self._limits))
            self._judged = watermark

    def _note_taken_in(self) -> None:
        """While nothing of the lake waits for its time, its marks are those of the tables, too."""
        reached = min(position.version for position in self._position.values())
        if reached >= self._version and not self._has_unsettled() and self._noted != self._version:
            with self._writer.work() as work:
                save_marks(work, TABLES, load_marks(work, LAKE))
            self._noted = self._version

    def _has_unsettled(self) -> bool:
        return self._stragglers or self._newest is None or self._newest >= self.settled_ms

    def _settlement_is_due(self, until_ms: int) -> bool:
        slot_is_over = slot_of(until_ms - SLOT_MARGIN_MS) >= self.settled_ms
        is_live = _now_ms() - until_ms < LIVE_MS
        return self._settlement_pace.is_due() or (slot_is_over and is_live)

    def _pass_arrivals(self) -> None:
        """Take what the lake got since the last time."""
        target = LakePosition(self._archive.version())
        if "latest" in self.stages and self._position[ARRIVALS] != target:
            with self._timed(self._arrivals_pace):
                self._advance(ARRIVALS, target)
            self._too_late = False

    def _settle(self, until_ms: int | None) -> None:
        """Settle what lies before this time; None: all that is there."""
        if "profile" not in self.stages:
            return
        before = self._position[SETTLEMENT]
        if self._newest is None:
            self._newest = self._archive.newest_since(before.settled_ms)
        if self._tariffs_ms is None:
            self._tariffs_ms = self._newest
        # A door whose clock is ahead must not settle the future: whatever comes then would come behind it.
        everything = min(self._newest + 1, _now_ms() + values.AHEAD_SECONDS * 1000)
        until = max(before.settled_ms, everything if until_ms is None else until_ms)
        with self._timed(self._settlement_pace):
            self._advance(SETTLEMENT, LakePosition(self._archive.version(), until))
        self._stragglers = False

    def _advance(self, name: str, target: LakePosition) -> None:
        """Bring a pass to this position; a step that was interrupted is ended first."""
        while True:
            with self._writer.work() as work:
                step = begin_step(work, name, target, self._over.shards)
            if (step.before, step.target) != (self._position[name], target):
                # An attempt that failed, or another process, leads further than the last batches were held against.
                self._forget_unsettled()
            self._take(step)
            if self._position[name] == target:
                return

    def _end_interrupted(self) -> None:
        for name in self._position:
            with self._writer.work() as work:
                step = begin_step(work, name, None, 1) if is_interrupted(work, name) else None
            if step is not None:
                self._take(step)

    def _take(self, step: Step) -> None:
        """One step of a pass to its end."""
        assert step.target is not None  # noqa: S101 - it leads somewhere
        version = step.target.version
        if step.name == ARRIVALS:
            with self._archive.seen(version):
                self._take_arrived(step, self._archive.added(step.before.version, version))
        else:
            until = step.target.settled_ms
            with self._archive.seen(version, until):
                readings = self._archive.unsettled(step.before, version, until, stragglers=self._stragglers)
                has_tariffs = self._tariffs_ms is None or step.before.settled_ms <= self._tariffs_ms
                self._over.settlement(step, readings, has_tariffs=has_tariffs)
        with self._writer.work() as work:
            end_step(work, step)
        self._position[step.name] = step.target

    def _take_arrived(self, step: Step, readings: DataFrame) -> None:
        if self._too_late:
            set_aside(self._writer, readings, self._late_ms)
            readings = readings.where(~too_late(self._late_ms))
        self._over.arrivals(step, readings)

    def _beside(self, name: str) -> Step:
        """A step of readings that are taken in whatever the positions are; a pass of its own to the tables."""
        with self._writer.work() as work:
            return begin_step(work, name, None, self._over.shards)

    @contextmanager
    def _timed(self, pace: DutyCycle) -> Iterator[None]:
        began = time.monotonic()
        yield
        pace.ran(time.monotonic() - began)

    def _take_alone(self, batch: DataFrame) -> int:
        """Without a lake: what comes is settled at once."""
        with self._writer.work() as work:
            before = load_marks(work, self._job)
        with held(fresh_readings(batch, before)) as fresh:
            reached = reached_marks(fresh, self._late_ms)
            readings = each_once(fresh) if reached.repeated else fresh
            self._over.settlement(self._beside(f"{SETTLEMENT}-alone"), readings)
            with self._writer.work() as work:
                save_marks(work, self._job, reached.marks)
        return reached.count

    def _write_alerts(self, find: Callable[[Work], Sequence[Alert]]) -> None:
        with self._writer.work() as work:
            watch.write_alerts(work, self._outbox, [((), find(work))])
            self._outbox.confirm()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
