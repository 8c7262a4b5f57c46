"""The lake as a table with a history: present and former versions, what was added since one; it only reads."""

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.errors import StromError
from strom.pipeline.lake.archive import COLUMNS, TABLE, appended_between
from strom.pipeline.lake.commit_log import CommitLog
from strom.pipeline.lake.commit_marks import version
from strom.settings import Settings

_STATS = "numRecords bigint, minValues struct<at: timestamp>, maxValues struct<at: timestamp>"


class Lake:
    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self.spark = spark
        self.path = f"{settings.lake_root.rstrip('/')}/{TABLE}"

    def exists(self) -> bool:
        return DeltaTable.isDeltaTable(self.spark, self.path)

    @property
    def table(self) -> DeltaTable:
        self._refuse_nothing()
        return DeltaTable.forPath(self.spark, self.path)

    def _refuse_nothing(self) -> None:
        if not self.exists():
            raise StromError(
                f"the lake at {self.path} holds no readings yet; the pipeline's stage archive fills it."
            )

    def version(self) -> int:
        self._refuse_nothing()
        return version(self.spark, self.path)

    def version_at(self, epoch_ms: int) -> int:
        """The version that was the newest then."""
        found = CommitLog(self.spark, self.path).newest_at(epoch_ms, self.version())
        if found is None:
            raise StromError("the lake has no version as old as that; `strom lake status` tells the oldest.")
        return found

    def versions(self) -> tuple[int, int, int]:
        """The oldest version that can be looked at, the newest one, and when the oldest was made (epoch ms)."""
        log, newest = CommitLog(self.spark, self.path), self.version()
        oldest = log.oldest(newest)
        return oldest, newest, log.written_ms(oldest)

    def has_changes_since(self, version: int) -> bool:
        """Whether the log still covers everything that was appended after this version."""
        return version >= self.version() or CommitLog(self.spark, self.path).has(version + 1)

    def readings(self, version: int | None = None) -> DataFrame:
        """All readings, now or as of a version."""
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path).select(*COLUMNS, "date")

    def first_ms(self) -> int | None:
        """The earliest time of its readings (epoch ms), as its log tells; None if there are none."""
        return self._stats().agg(F.min("first_ms")).collect()[0][0]  # type: ignore[no-any-return]

    def rows_since(self, since_ms: int) -> int:
        """How many readings lie in the files that reach to this time or beyond."""
        found = self._stats().where(F.col("last_ms") >= since_ms).agg(F.sum("rows")).collect()[0][0]
        return found or 0

    def _stats(self) -> DataFrame:
        """Of each file; where its log tells none it may hold any time."""
        stats = F.from_json("stats", _STATS)
        day = F.unix_millis(F.col("partitionValues")["date"].cast("timestamp"))
        first, last = (stats[f"{side}Values"]["at"] for side in ("min", "max"))
        return self.files().select(
            F.coalesce(stats["numRecords"], F.lit(0)).alias("rows"),
            F.coalesce(F.unix_millis(first), day).alias("first_ms"),
            (F.coalesce(F.unix_millis(last), day + F.lit(86_400_000)) + 1).alias("last_ms"),
        )

    def files(self) -> DataFrame:
        """The files of the present version, from the table's log alone; Delta shows its list only to Java."""
        self._refuse_nothing()
        log_of = self.spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        snapshot = log_of.forTableWithSnapshot(self.spark._jsparkSession, self.path)._2()
        return DataFrame(snapshot.allFiles().toDF(), self.spark)

    def added(self, after: int, upto: int) -> DataFrame:
        """What was appended after one version up to another, with `_commit_version`; joined files add nothing."""
        changes = appended_between(self.spark, self.path, after, upto)
        return changes.select(*COLUMNS, "date", "_commit_version")


def in_span(readings: DataFrame, since: int | None, until: int | None, *, by_day: bool = True) -> DataFrame:
    """Readings of a span of time; `by_day` with the days named so that only their files are read."""
    at = F.unix_millis("at")
    if since is not None:
        readings = readings.where((F.col("date") >= _day(since)) if by_day else F.lit(True)).where(
            at >= since
        )
    if until is not None:
        readings = readings.where((F.col("date") <= _day(until)) if by_day else F.lit(True)).where(at < until)
    return readings


def _day(epoch_ms: int) -> Column:
    return F.to_date(F.timestamp_millis(F.lit(max(0, epoch_ms))))
