"""A replay in place: what the tables say about some meters from a time on is worked out again.

To the tables these readings are late, and late readings are put in their place from the lake: from the last segment
that they cannot change to the end of the series. So the borders of the span are right, and so is all that follows it.
"""

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import time_text
from strom.errors import StromError
from strom.pipeline.given import of_meters
from strom.pipeline.lake.table import Lake, in_span
from strom.pipeline.replay.job import Outcome, Pace, Report, refuse_nothing
from strom.pipeline.replay.plan import HOUR_MS, LAKE, Plan, by_meter
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store import replay_tables as tables
from strom.store.replay_tables import Progress
from strom.store.schema import ensure_schema
from strom.store.writes import Work, Writer

_DAY_MS = 24 * HOUR_MS
Result = TypeVar("Result")


class InPlace:
    """The pipeline may be running: batches and the groups of meters here wait for each other."""

    def __init__(self, settings: Settings, spark: SparkSession, plan: Plan, report: Report) -> None:
        self._settings, self._plan, self._report = settings, plan, report
        self._spark, self._lake = spark, Lake(settings, spark)
        self._key = plan.key(settings)

    def run(self, stop: Event) -> Outcome:
        refuse_nothing(self._lake.readings(), self._plan)
        ensure_schema(self._settings.postgres_url)
        self._refuse_before_the_lake()
        counts = self._counts()
        done = self._done()
        left = {meter: count for meter, count in counts.items() if meter > done}
        pace = Pace(sum(counts.values()), sum(counts.values()) - sum(left.values()), self._report)
        job = StoreJob(self._settings, self._spark)
        try:
            for group, count in by_meter(left):
                if stop.is_set():
                    break
                self._redo(job, list(group), pace.done + count)
                pace.step(count, f"{group[0]} to {group[-1]}" if len(group) > 1 else group[0])
            else:
                self._in_tables(lambda work: tables.save_progress(work, self._progress("", pace.done, True)))
            return Outcome(pace.count, pace.seconds, stop.is_set(), job.told())
        finally:
            job.close()

    def _redo(self, job: StoreJob, group: list[str], readings: int) -> None:
        def read() -> DataFrame:
            return of_meters(in_span(self._lake.readings(), self._plan.since, self._plan.until), group)

        done = self._progress(group[-1], readings, False)
        job.take_again(read, lambda work: tables.save_progress(work, done), only_settled=True)

    def _counts(self) -> dict[str, int]:
        """Readings per meter from the beginning of the span to the end of the lake: a series is redone to its end."""
        rows = in_span(self._lake.readings(), self._plan.since, None).groupBy("meter").count().collect()
        return {row["meter"]: row["count"] for row in rows if self._plan.wants(row["meter"])}

    def _refuse_before_the_lake(self) -> None:
        """Quarter-hours that the lake has no readings for any more would be lost."""
        first: int = self._lake.readings().agg(F.unix_millis(F.min("at"))).collect()[0][0]
        since = self._plan.since if self._plan.since is not None else 0
        (kept,) = self._in_tables(
            lambda work: work.rows("SELECT extract(epoch FROM min(start))::bigint * 1000 FROM load_profile")[
                0
            ]
        )
        if kept is not None and kept + HOUR_MS < first and since < first + _DAY_MS:
            raise StromError(
                f"the lake begins at {time_text(first)}, later than the quarter-hours in the tables: choose a --from "
                f"of {time_text(first + _DAY_MS)} or later."
            )

    def _done(self) -> str:
        """The last meter of a replay that was stopped."""
        found = self._in_tables(tables.load_progress)
        return next((each.position for each in found if each.plan == self._key and not each.complete), "")

    def _progress(self, position: str, readings: int, complete: bool) -> Progress:
        return Progress(self._key, LAKE, None, position, readings, False, complete)

    def _in_tables(self, work_on: Callable[[Work], Result]) -> Result:
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            return work_on(work)
