"""Keeps the lake in order: small files joined, past days sorted by meter, old days and old versions removed.

It runs beside the live writer: appends never conflict with joining or deleting what was there before.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from threading import Event

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
)
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.errors import StromError
from strom.pipeline.lake.files import LakeFile, by_day, wants_clustering, wants_joining
from strom.pipeline.lake.table import Lake
from strom.pipeline.retention import apply_retention
from strom.settings import Settings

MB = 1024 * 1024
FIRST_SECONDS = 60.0  # after the start; a pipeline that is often restarted keeps its lake in order, too
CONFLICTS = (ConcurrentAppendException, ConcurrentDeleteDeleteException, ConcurrentDeleteReadException)
_RETENTIONS = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")  # of files and of the log
_STATS = "numRecords bigint, minValues struct<meter: string>, maxValues struct<meter: string>"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compacted:
    day: date
    files_before: int
    files_after: int


def keep_up(settings: Settings, spark: SparkSession, stop: Event) -> None:
    """Rounds of upkeep until stopped, off the way of the readings; what fails now is done in the next round."""
    pause = min(FIRST_SECONDS, settings.lake.upkeep_minutes * 60)
    upkeep = Upkeep(settings, spark)
    while not stop.wait(pause):
        pause = settings.lake.upkeep_minutes * 60
        try:
            upkeep.round(datetime.now(UTC))
        except Exception as error:  # the stream must not end because the lake is untidy
            if not stop.is_set():
                log.warning("the lake's upkeep failed (%s); it is tried again", f"{error!r}"[:200])
        try:
            apply_retention(settings, datetime.now(UTC))
        except Exception as error:  # the same holds for the tables
            if not stop.is_set():
                log.warning("old months of the tables stay (%s); it is tried again", f"{error!r}"[:200])


class Upkeep:
    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self._settings = settings
        self._target = settings.lake.file_mb * MB
        # A session of its own: these settings are for the upkeep and not for who writes.
        self._spark = spark.newSession()
        self._spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
        self._spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(self._target))
        self._spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(self._target // 2))
        self._spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # Folders are listed by so many tasks; by default there are thousands, and most of the time goes into starting them.
        self._spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "16")
        self._lake = Lake(settings, self._spark)
        self._vacuumed: date | None = None

    def round(self, now: datetime) -> None:
        """All of it, as the running pipeline does from time to time; old files once a day."""
        today = now.date()
        if not self._lake.exists():
            return
        done = self.compact(today)
        if done:
            before, after = (
                sum(each) for each in zip(*((d.files_before, d.files_after) for d in done), strict=True)
            )
            log.info("the lake: %d days put in order, %d files became %d", len(done), before, after)
        if days := self.trim(today):
            log.info("the lake: %d days older than lake.keep_days are removed", days)
        if self._vacuumed != today:
            self.vacuum()
            self._vacuumed = today

    def files(self) -> list[LakeFile]:
        """The files of the present version, from the table's log alone."""
        stats = F.from_json("stats", _STATS)
        rows = self._lake.files().select(
            F.to_date(F.col("partitionValues")["date"]).alias("day"),
            "size",
            F.coalesce(stats["numRecords"], F.lit(0)),
            F.coalesce(stats["minValues"]["meter"], F.lit("")),
            F.coalesce(stats["maxValues"]["meter"], F.lit("")),
        )
        return [LakeFile(*row) for row in rows.collect()]

    def compact(
        self, today: date, report: Callable[[Compacted], None] = lambda done: None
    ) -> list[Compacted]:
        """Join and sort what needs it; a second call finds nothing to do."""
        found: list[Compacted] = []
        for day, files in by_day(self.files()).items():
            past = day < today
            if not (wants_clustering if past else wants_joining)(files, self._target):
                continue
            order = " ZORDER BY (meter)" if past else ""
            self._optimize(f"WHERE date = DATE'{day}'{order}")
            after = by_day(self.files()).get(day, [])
            found.append(Compacted(day, len(files), len(after)))
            report(found[-1])
        return found

    def trim(self, today: date) -> int:
        """Remove days that are kept no longer; returns how many."""
        kept = self._settings.lake.keep_days
        if kept is None:
            return 0
        first = today - timedelta(days=kept)
        old = [day for day in by_day(self.files()) if day < first]
        if old:
            self._table.delete(F.col("date") < F.lit(first))
        return len(old)

    def vacuum(self) -> None:
        """Remove files that no version within `lake.versions_hours` needs."""
        self._limit_retention()
        self._table.vacuum()

    def _limit_retention(self) -> None:
        """The log tells of former versions as long as their files are there; with a commit every few seconds it grows fast."""
        wanted = dict.fromkeys(_RETENTIONS, f"interval {self._settings.lake.versions_hours} hours")
        if not wanted.items() <= self._table.detail().collect()[0]["properties"].items():
            properties = ", ".join(f"'{name}' = '{span}'" for name, span in wanted.items())
            self._spark.sql(f"ALTER TABLE delta.`{self._lake.path}` SET TBLPROPERTIES ({properties})")

    def _optimize(self, what: str) -> None:
        try:
            self._spark.sql(f"OPTIMIZE delta.`{self._lake.path}` {what}").collect()
        except CONFLICTS:
            raise StromError(
                "somebody else puts the same files of the lake in order, perhaps the pipeline; try again later.",
                exit_code=1,
            ) from None

    @property
    def _table(self) -> DeltaTable:
        return self._lake.table
