"""Keeps every reading in the Delta table `readings`, typed and by date; reads it back for meters that need it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.beside import Beside
from strom.pipeline.given import given
from strom.pipeline.lake import commit_marks
from strom.pipeline.late import NEVER_LATE_MS, too_late
from strom.store.mark_tables import Mark

TABLE = "readings"
SMALL_BATCH = 50_000  # readings that fit one file: a micro-batch makes one file a day, not one per task

PROPERTIES = {
    # Files are joined beside the stream (`upkeep.py`); Delta's own way would do it within an append.
    "delta.autoOptimize.autoCompact": "false",
    "delta.checkpointInterval": "50",
    "delta.dataSkippingStatsColumns": "meter,at",
    # A replay reads from it what was appended since it began; an append writes nothing more for it.
    "delta.enableChangeDataFeed": "true",
}

_HEAD = ("meter", "at", "received", "source", "clock")
_TAIL = ("meter_number", "other", "flags", "origin")
COLUMNS = (*_HEAD, *NUMBER_FIELDS, *_TAIL)


class Archive:
    """The lake's `readings`. Each append tells in its commit which marks it reaches."""

    def __init__(self, spark: SparkSession, root: str, late_ms: int = NEVER_LATE_MS) -> None:
        self.spark = spark
        self._late_ms = late_ms
        # The log of one table is small; by default Delta reads it in 50 tasks, which costs a second each time.
        spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
        self.path = f"{root.rstrip('/')}/{TABLE}"
        self._made = False
        self._newest: tuple[int, list[Mark]] | None = None  # as of a version, the marks of the last append
        self._running: Beside[None] | None = None

    def append(self, fresh: DataFrame, count: int, marks: Sequence[Mark]) -> None:
        """Add these readings. What the lake holds already must not be among them."""
        if count == 0:
            return
        self.ensure()
        rows = lake_rows(fresh)
        rows = rows.coalesce(1) if count <= SMALL_BATCH else rows
        told = commit_marks.as_text(marks)
        rows.write.format("delta").mode("append").option(commit_marks.OPTION, told).save(self.path)
        self._newest = (commit_marks.version(self.spark, self.path), list(marks))

    @contextmanager
    def appending(self, fresh: DataFrame, count: int, marks: Sequence[Mark]) -> Iterator[None]:
        """Append beside the work of the block; behind it, and whenever the block reads the lake, it is there."""
        self._running = Beside(lambda: self.append(fresh, count, marks), "strom-archive")
        try:
            yield
        except BaseException:
            self._running.join()
            raise
        finally:
            running, self._running = self._running, None
        running.result()

    def newest_marks(self) -> list[Mark]:
        """What the last append has reached, whoever made it; the tables may not know of it, if it was killed right then."""
        self.ensure()
        version = commit_marks.version(self.spark, self.path)
        if self._newest is None or self._newest[0] != version:
            self._newest = (version, commit_marks.newest_marks(self.spark, self.path))
        return self._newest[1]

    def read_since(self, since: dict[str, int | None]) -> DataFrame:
        """Readings of these meters after the given times (epoch ms; None: all of them), but for those too late."""
        if self._running is not None:
            self._running.result()
        rows = [(meter, -1 if time is None else time) for meter, time in since.items()]
        wanted = F.broadcast(given(self.spark, rows, "wanted string, since bigint"))
        first = min(time for _, time in rows)
        return (
            self.rows()
            .where(F.col("date") >= F.to_date(F.timestamp_millis(F.lit(max(first, 0)))))
            .where(~too_late(self._late_ms))
            .join(wanted, (F.col("meter") == F.col("wanted")) & (F.unix_millis("at") > F.col("since")))
        )

    def rows(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.path)

    def ensure(self) -> None:
        """Make the table; one that an older Strom has made gets the present properties."""
        if self._made:
            return
        wanted = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{self.path}` ({SCHEMA}) USING delta PARTITIONED BY (date) "
            f"TBLPROPERTIES ({wanted})"
        )
        found: dict[str, str] = dict(self.spark.sql(f"SHOW TBLPROPERTIES delta.`{self.path}`").collect())
        if not PROPERTIES.items() <= found.items():
            self.spark.sql(f"ALTER TABLE delta.`{self.path}` SET TBLPROPERTIES ({wanted})")
        self._made = True


def lake_rows(fresh: DataFrame) -> DataFrame:
    return fresh.select(*COLUMNS, F.to_date("at").alias("date"))


def _type(name: str) -> str:
    if name in NUMBER_FIELDS:
        return "decimal(18,3)"
    return {"at": "timestamp", "received": "timestamp", "flags": "array<string>", "date": "date"}.get(
        name, "string"
    )


SCHEMA = ", ".join(f"{name} {_type(name)}" for name in (*COLUMNS, "date"))
