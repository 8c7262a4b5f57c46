"""A replay into a schema of its own: a whole set of tables from the lake, told to nobody, ready to be swapped in.

The readings come in order of their time, so that each takes the short way through every stage. What the lake got
meanwhile is taken in at the end, in the order of its arrival, as the live pipeline did.
"""

import time
from contextlib import closing
from dataclasses import replace
from threading import Event

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import time_text
from strom.errors import StromError
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.lake.commit_marks import later_marks
from strom.pipeline.lake.table import Lake, in_span
from strom.pipeline.replay.job import Outcome, Pace, Report, of_plan, refuse_nothing
from strom.pipeline.replay.plan import HOUR_MS, LAKE, Piece, Plan, by_time, by_version
from strom.pipeline.replay.silence import ended_silences
from strom.pipeline.replay.topic import topic_readings
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store import replay_tables as tables
from strom.store.mark_tables import Mark
from strom.store.meter_tables import load_intervals
from strom.store.position_tables import ARRIVALS, SETTLEMENT, LakePosition, save_position
from strom.store.replay_tables import SWAPPED, Progress
from strom.store.schema import drop_schema, ensure_schema
from strom.store.writes import Work, Writer


class Into:
    def __init__(self, settings: Settings, spark: SparkSession, plan: Plan, report: Report) -> None:
        if plan.into == settings.postgres.schema_name:
            raise StromError(f"{plan.into} holds the live tables; leave out --into to replay in place.")
        self._live, self._settings = settings, settings.with_schema(plan.into or "")
        self._plan, self._report = plan, report
        self._spark, self._lake = spark, Lake(settings, spark)

    def run(self, stop: Event) -> Outcome:
        began = time.monotonic()
        progress = self._begin()
        first = progress.readings
        if not progress.complete:
            progress = self._build(progress, stop)
        if progress.complete and not stop.is_set():
            progress = self._catch_up(progress)
        return Outcome(progress.readings - first, time.monotonic() - began, not progress.complete)

    def _begin(self) -> Progress:
        """Go on with a replay that was stopped, or begin one."""
        refuse_nothing(self._lake.readings(), self._plan)
        ensure_schema(self._live.postgres_url)
        version, marks, jobs = self._snapshot()
        if self._plan.anew:
            self._drop()
        ensure_schema(self._settings.postgres_url)
        key = self._plan.key(self._settings)
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            found = tables.load_progress(work)
            self._refuse_foreign(work, found)
            if found and found[0].plan not in (key, SWAPPED):
                raise StromError(
                    f"{self._plan.into} was built by a replay with other rules or another span; choose another "
                    "name, or build it again with --anew."
                )
            if found:
                return found[0]
            progress = Progress(key, self._plan.source, version, "", 0, self._plan.whole, False)
            tables.save_progress(work, progress)
            tables.save_lake_marks(work, jobs, marks)
            return progress

    def _drop(self) -> None:
        """Only what a replay has made, and never tables that were live once."""
        ensure_schema(self._settings.postgres_url)
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            found = tables.load_progress(work)
            self._refuse_foreign(work, found)
        if found and found[0].plan == SWAPPED:
            raise StromError(
                f"{self._plan.into} holds the tables that were live before; choose another name."
            )
        drop_schema(self._settings.postgres_url, self._settings.postgres.schema_name)

    def _refuse_foreign(self, work: Work, found: list[Progress]) -> None:
        if not found and work.rows("SELECT FROM meter_states LIMIT 1"):
            raise StromError(
                f"the schema {self._plan.into} holds tables that no replay has made; choose another name."
            )

    def _snapshot(self) -> tuple[int, list[Mark], list[str]]:
        """A version of the lake and what it holds, while nobody writes: the two belong together."""
        with Writer(self._live.postgres_url) as writer, writer.exclusive():
            archive = Archive(self._spark, self._live.lake_root)
            archive.ensure()  # with the change feed, which tells what comes later
            version, newest = self._lake.version(), archive.newest_marks()
            with writer.work() as work:
                return version, later_marks(tables.lake_marks(work), newest), tables.jobs_with_marks(work)

    def _build(self, progress: Progress, stop: Event) -> Progress:
        readings = self._readings(progress)
        hours = (F.unix_millis("at") - F.unix_millis("at") % HOUR_MS).alias("hour")
        counts = {row["hour"]: row["count"] for row in readings.groupBy(hours).count().collect()}
        pace = Pace(sum(counts.values()), progress.readings, self._report)
        job = StoreJob(self._settings, self._spark, tells=False, by_arrival=False)
        try:
            for piece in by_time(counts):
                if stop.is_set():
                    return progress
                if piece.until > int(progress.position or 0):
                    progress = self._take(job, readings, piece, progress)
                    pace.step(piece.readings, f"up to {time_text(piece.until)}")
            return self._end(job, readings, progress)
        finally:
            job.close()
            readings.unpersist()

    def _take(self, job: StoreJob, readings: DataFrame, piece: Piece, before: Progress) -> Progress:
        done = replace(before, position=str(piece.until), readings=before.readings + piece.readings)
        job.take_again(
            lambda: in_span(readings, piece.since, piece.until), lambda work: tables.save_progress(work, done)
        )
        return done

    def _end(self, job: StoreJob, readings: DataFrame, progress: Progress) -> Progress:
        """Silences are told by arrivals, which no piece has seen in their order."""
        complete = replace(progress, complete=True)
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            intervals = load_intervals(work)
        silences = ended_silences(readings, intervals, self._settings)
        job.write_alerts(lambda _: silences)
        self._reach(job, complete.lake_version)
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            tables.save_progress(work, complete)
        return complete

    def _catch_up(self, progress: Progress) -> Progress:
        """Take in what the lake got since; the marks then say how far the live pipeline need not repeat."""
        version, marks, jobs = self._snapshot()
        before = progress.lake_version or 0
        if version == before:
            return progress
        if not self._lake.has_changes_since(before):
            raise StromError(
                f"the lake does not tell any more what it got since {self._plan.into} was built (lake.versions_hours); "
                "build it again with --anew.",
                exit_code=1,
            )
        with (
            held(of_plan(self._lake.added(before, version), self._plan)) as added,
            closing(StoreJob(self._settings, self._spark, tells=False)) as job,
        ):
            counts = {row[0]: row[1] for row in added.groupBy("_commit_version").count().collect()}
            for last, count in by_version(counts):
                progress = self._take_added(job, added, progress, last, count)
            progress = replace(progress, lake_version=version)
            with Writer(self._settings.postgres_url) as writer, writer.work() as work:
                tables.save_progress(work, progress)
                tables.save_lake_marks(work, jobs, marks)
            self._reach(job, version)
        self._report(f"{sum(counts.values()):,} readings came meanwhile and are in, too")
        return progress

    def _take_added(
        self, job: StoreJob, added: DataFrame, before: Progress, last: int, count: int
    ) -> Progress:
        """In the order of their arrival, as live: only so can the batches tell who was silent."""
        since = before.lake_version or 0
        done = replace(before, lake_version=last, readings=before.readings + count)
        job.take_again(
            lambda: added.where((F.col("_commit_version") > since) & (F.col("_commit_version") <= last)),
            lambda work: tables.save_progress(work, done),
        )
        return done

    def _reach(self, job: StoreJob, version: int | None) -> None:
        """All up to this version is settled; who is silent is told as of the newest arrival of any meter."""
        readings = in_span(self._lake.readings(version), self._plan.since, self._plan.until)
        arrived, newest = readings.agg(
            *(F.unix_millis(F.max(each)) for each in ("received", "at"))
        ).collect()[0]
        if newest is None:
            return
        job.judge_silences(arrived)
        version = self._lake.version() if version is None else version
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            save_position(work, ARRIVALS, LakePosition(version))
            save_position(work, SETTLEMENT, LakePosition(version, newest + 1))

    def _readings(self, progress: Progress) -> DataFrame:
        if progress.source == LAKE:
            return of_plan(self._lake.readings(progress.lake_version), self._plan)
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            marks = tables.lake_marks(work)
        return of_plan(topic_readings(self._live, self._spark, marks), self._plan)
