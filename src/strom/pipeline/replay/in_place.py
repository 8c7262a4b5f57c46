"""A replay in place: what the tables say about some meters from a time on is worked out again.

To the tables these readings are late, and late readings are put in their place from the lake: from the last segment
that they cannot change to the end of the series. So the borders of the span are right, and so is all that follows it.
The lake is read once, into groups of meters; then the groups follow each other, and the pipeline may work between them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from threading import Event
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import time_text
from strom.errors import StromError
from strom.pipeline.lake.archive import COLUMNS
from strom.pipeline.lake.table import Lake, in_span
from strom.pipeline.replay.job import Outcome, Pace, Report
from strom.pipeline.replay.plan import HOUR_MS, LAKE, PIECE_READINGS, Plan, unknown
from strom.pipeline.replay.staged import Staged
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.settings.groups import pattern_regex
from strom.store import replay_tables as tables
from strom.store.replay_tables import Progress
from strom.store.schema import ensure_schema
from strom.store.writes import Work, Writer

_DAY_MS = 24 * HOUR_MS
_BEFORE_MS = (
    HOUR_MS  # what a series goes back to lies within it, nearly always; what does not is read from the lake
)
_MOST_GROUPS = 4_000
_LAKE_PART = "lake"
Result = TypeVar("Result")


class InPlace:
    """The pipeline may be running: batches and the groups of meters here wait for each other."""

    def __init__(self, settings: Settings, spark: SparkSession, plan: Plan, report: Report) -> None:
        self._settings, self._plan, self._report = settings, plan, report
        self._spark, self._lake = spark, Lake(settings, spark)
        self._key = plan.key(settings)
        since = plan.since
        self._begin_ms = 0 if since is None else max(0, since - since % HOUR_MS - _BEFORE_MS)

    def run(self, stop: Event) -> Outcome:
        ensure_schema(self._settings.postgres_url)
        self._refuse_before_the_lake()
        progress, staged = self._begin()
        counts = staged.counts()
        first, groups = _position(progress.position)
        left = {group: count for group, count in sorted(counts.items()) if group >= first}
        pace = Pace(sum(counts.values()), sum(counts.values()) - sum(left.values()), self._report)
        job = StoreJob(self._settings, self._spark)
        try:
            for group, count in left.items():
                if stop.is_set():
                    break
                progress = self._redo(job, staged, group, progress, pace.done + count)
                pace.step(count, f"group {group + 1} of {groups}")
            else:
                self._end(pace.done)
                staged.remove()
            return Outcome(pace.count, pace.seconds, stop.is_set(), job.told())
        finally:
            job.close()

    def _end(self, readings: int) -> None:
        done = Progress(self._key, LAKE, None, "", readings, False, True)
        self._in_tables(lambda work: tables.save_progress(work, done))

    def _redo(self, job: StoreJob, staged: Staged, group: int, before: Progress, readings: int) -> Progress:
        """One group of meters, in which nobody else writes the tables or the lake."""
        done = [before]

        def read() -> DataFrame:
            """The group as it is now: what came since goes to the staged readings first, for this group and the next ones."""
            version, known = self._lake.version(), before.lake_version or 0
            if version > known:
                added = self._wanted(self._lake.added(known, version))
                staged.write(f"after-{known}", added)
            position = f"{group + 1}/{_position(before.position)[1]}"
            done[0] = Progress(self._key, LAKE, version, position, readings, False, False)
            return in_span(staged.group(group), self._plan.since, self._plan.until, by_day=False)

        job.take_again(
            read,
            lambda work: tables.save_progress(work, done[0]),
            only_settled=True,
            staged=(lambda: staged.group(group), self._begin_ms),
        )
        return done[0]

    def _begin(self) -> tuple[Progress, Staged]:
        """Go on with a replay that was stopped, or begin one; all that is needed of the lake is read from it once."""
        stopped = self._stopped()
        groups = self._groups() if stopped is None else _position(stopped.position)[1]
        name = hashlib.sha256(self._key.encode()).hexdigest()[:16]
        staged = Staged(self._spark, f"{self._settings.checkpoint_root.rstrip('/')}/replay-{name}", groups)
        if (
            stopped is not None
            and staged.is_complete(_LAKE_PART)
            and self._lake.has_changes_since(stopped.lake_version or 0)
        ):
            return stopped, staged
        version = self._lake.version()
        staged.remove()
        staged.write(_LAKE_PART, self._wanted(self._lake.readings(version)))
        self._refuse_nothing(staged)
        new = Progress(self._key, LAKE, version, f"0/{groups}", 0, False, False)
        progress = new if stopped is None else replace(stopped, lake_version=version)
        self._in_tables(lambda work: tables.save_progress(work, progress))
        return progress, staged

    def _stopped(self) -> Progress | None:
        found = self._in_tables(tables.load_progress)
        mine = [each for each in found if each.plan == self._key and not each.complete]
        return next((each for each in mine if "/" in each.position), None)

    def _groups(self) -> int:
        """So many that each has about as many readings as one piece of work should."""
        rows = self._lake.rows_since(self._begin_ms) * self._share()
        return min(_MOST_GROUPS, max(1, ceil(rows / PIECE_READINGS)))

    def _share(self) -> float:
        """Of the meters that the tables know, how many are wanted."""
        if not self._plan.meters:
            return 1.0
        names = self._in_tables(lambda work: work.rows("SELECT meter FROM meter_states"))
        return sum(self._plan.wants(name) for (name,) in names) / max(1, len(names))

    def _wanted(self, readings: DataFrame) -> DataFrame:
        """Readings of the meters from a little before the span to the end: a series is redone to its end."""
        readings = in_span(readings, self._begin_ms, None)
        if self._plan.meters:
            regex = "|".join(map(pattern_regex, self._plan.meters))
            readings = readings.where(F.col("meter").rlike(f"(?s)\\A(?:{regex})\\z"))
        return readings.select(*COLUMNS)

    def _refuse_nothing(self, staged: Staged) -> None:
        """A replay of nothing is a mistake in what was asked for."""
        everything = staged.everything()
        names = staged.meters() | {
            name for (name,) in self._in_tables(lambda w: w.rows("SELECT meter FROM meter_states"))
        }
        sentence = None
        if missing := unknown(self._plan.meters, names):
            sentence = f"no reading is of a meter {missing[0]}; `strom lake status --meters` lists them."
        elif in_span(everything, self._plan.since, self._plan.until, by_day=False).isEmpty():
            sentence = (
                "no reading lies in that span of time; `strom lake status` tells the first and last day."
            )
        if sentence is not None:
            staged.remove()
            raise StromError(sentence)

    def _refuse_before_the_lake(self) -> None:
        """Quarter-hours that the lake has no readings for any more would be lost."""
        first = self._lake.first_ms()
        if first is None:
            raise StromError("the lake holds no readings yet; there is nothing to replay.")
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

    def _in_tables(self, work_on: Callable[[Work], Result]) -> Result:
        with Writer(self._settings.postgres_url) as writer, writer.work() as work:
            return work_on(work)


def _position(text: str) -> tuple[int, int]:
    """The group that comes next, and how many there are."""
    done, groups = text.split("/")
    return int(done), int(groups)
