"""Keeps every reading in the Delta table `readings`, typed and by date; reads it back for meters that need it."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.exact_times import is_before, is_from
from strom.pipeline.given import given
from strom.pipeline.lake import commit_log, commit_marks
from strom.pipeline.lake.commit_log import CommitLog
from strom.pipeline.late import NEVER_LATE_MS, too_late
from strom.store.mark_tables import Mark
from strom.store.position_tables import NOTHING_SETTLED, LakePosition

TABLE = "readings"
StagedLake = tuple[Callable[[], DataFrame], int]  # some meters' readings from a time on (epoch ms)
Span = tuple[str, int, int | None]  # a meter, from a time on, up to a time (None: to the end)

MOST_SPANS = 50  # spans of time that a predicate names one by one
MOST_NAMED = 200  # meters that a predicate names one by one
SMALL_BATCH = 50_000  # readings that fit one file: a micro-batch makes one file a day, not one per task

_HOUR_MS = 3_600_000
_LAST_MS = 253_402_300_800_000  # the year 10000, beyond every reading

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

log = logging.getLogger(__name__)


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
        self._version: int | None = None  # as of which it is read; None: the present one
        self._until_ms: int | None = None
        self._staged: StagedLake | None = None

    def append(self, fresh: DataFrame, count: int, marks: Sequence[Mark]) -> None:
        """Add these readings. What the lake holds already must not be among them."""
        if count == 0:
            return
        self.ensure()
        rows = lake_rows(fresh)
        rows = rows.coalesce(1) if count <= SMALL_BATCH else rows
        told = commit_marks.as_text(marks)
        rows.write.format("delta").mode("append").option(commit_log.OPTION, told).save(self.path)
        self._newest = (commit_marks.version(self.spark, self.path), list(marks))

    def version(self) -> int:
        """The table's newest one."""
        self.ensure()
        return commit_marks.version(self.spark, self.path)

    def newest_marks(self) -> list[Mark]:
        """What the last append has reached, whoever made it; the tables may not know of it, if it was killed right then."""
        self.ensure()
        version = commit_marks.version(self.spark, self.path)
        if self._newest is None or self._newest[0] != version:
            self._newest = (version, commit_marks.newest_marks(self.spark, self.path))
        return self._newest[1]

    @contextmanager
    def seen(
        self, version: int | None = None, until_ms: int | None = None, staged: StagedLake | None = None
    ) -> Iterator[None]:
        """Within the block the lake is as of a version (None: the present one), and no readings from this time on are given.

        A version that is not kept any more gives way to the present one: what came since is taken in once more thereafter.
        What meters need of it is read from `staged` readings, as far as these reach back.
        """
        is_kept = (
            version != self.version()
            and version is not None
            and CommitLog(self.spark, self.path).has(version)
        )
        self._version = version if is_kept else None
        self._until_ms = until_ms
        self._staged = staged
        try:
            yield
        finally:
            self._version = self._until_ms = self._staged = None

    def read_since(self, since: Mapping[str, int | None]) -> DataFrame:
        """Readings of these meters after the given times (epoch ms; None: all of them), but for those too late."""
        return self.read_spans(
            [(meter, 0 if time is None else time + 1, None) for meter, time in since.items()]
        )

    def read_spans(self, spans: Sequence[Span]) -> DataFrame:
        """Readings of these meters in these spans of time, which do not overlap, but for those too late.

        Days, times and meters stand there as literals too: by them files are left out before any is opened.
        """
        wanted = [(meter, since, _LAST_MS if until is None else until) for meter, since, until in spans]
        if self._staged is None:
            return self._within(self.rows(), wanted)
        frame, begin = self._staged
        before = [(meter, since, min(until, begin)) for meter, since, until in wanted if since < begin]
        behind = [(meter, max(since, begin), until) for meter, since, until in wanted if until > begin]
        found = self._within(frame(), behind, by_day=False)
        return found.unionByName(self._within(self.rows(), before).select(*COLUMNS)) if before else found

    def _within(
        self, rows: DataFrame, spans: Sequence[tuple[str, int, int]], *, by_day: bool = True
    ) -> DataFrame:
        wanted = F.broadcast(given(self.spark, spans, "wanted string, since bigint, upto bigint"))
        until = _LAST_MS if self._until_ms is None else self._until_ms
        times = few_spans([(since, min(upto, until)) for _, since, upto in spans], MOST_SPANS)
        named = reduce(Column.__or__, (_between(*each, by_day=by_day) for each in times), F.lit(not spans))
        at = F.unix_millis("at")
        inside = (F.col("meter") == F.col("wanted")) & (at >= F.col("since")) & (at < F.col("upto"))
        return (
            rows.where(named & _named({meter for meter, _, _ in spans}) & ~too_late(self._late_ms))
            .select(*COLUMNS)
            .join(wanted, inside)
            .select(*COLUMNS)
        )

    def added(self, after: int, upto: int) -> DataFrame:
        """What was appended after one version up to another, and all there is where the log does not tell that any more.

        What is taken in twice changes nothing; it only costs more.
        """
        if after >= upto:
            return self.rows().where("false")
        if after >= 0 and CommitLog(self.spark, self.path).has(after + 1):
            return appended_between(self.spark, self.path, after, upto)
        if after >= 0:
            log.warning(
                "the lake does not tell any more what it got after version %s (lake.versions_hours); all its readings are "
                "gone over, which takes a while",
                f"{after:,}",
            )
        return self.rows()

    def newest_since(self, since_ms: int) -> int:
        """The latest `at` (epoch ms) of all readings from this time on; the time itself if there are none."""
        newest = self.rows().where(_between(since_ms, None)).agg(F.unix_millis(F.max("at"))).collect()[0][0]
        return since_ms if newest is None else int(newest)

    def unsettled(
        self, position: LakePosition, version: int, until_ms: int, *, stragglers: bool
    ) -> DataFrame:
        """Readings before `until_ms` that are not settled: those whose time has come, and those that came behind it."""
        waited = self.rows().where(_between(position.settled_ms, until_ms)).select(*COLUMNS)
        if stragglers and position.settled_ms > NOTHING_SETTLED:
            behind = self.added(position.version, version).where(
                _between(NOTHING_SETTLED, position.settled_ms)
            )
            waited = waited.unionByName(behind.select(*COLUMNS))
        return waited.where(~too_late(self._late_ms))

    def rows(self) -> DataFrame:
        reader = self.spark.read.format("delta")
        if self._version is not None:
            reader = reader.option("versionAsOf", self._version)
        return reader.load(self.path)

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


def appended_between(spark: SparkSession, path: str, after: int, upto: int) -> DataFrame:
    """What was appended after one version up to another, with `_commit_version`; joined files add nothing."""
    return (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", after + 1)
        .option("endingVersion", upto)
        .load(path)
        .where("_change_type = 'insert'")
    )


def lake_rows(fresh: DataFrame) -> DataFrame:
    return fresh.select(*COLUMNS, F.to_date("at").alias("date"))


def few_spans(spans: Iterable[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """At most so many spans of time that these lie in, with the least between them."""
    found: list[tuple[int, int]] = []
    for since, until in sorted(spans):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(until, found[-1][1]))
        else:
            found.append((since, until))
    gaps = sorted(range(1, len(found)), key=lambda place: found[place - 1][1] - found[place][0])
    few: list[tuple[int, int]] = []
    begin = 0
    for end in [*sorted(gaps[: most - 1]), len(found)]:
        if end > begin:
            few.append((found[begin][0], found[end - 1][1]))
        begin = end
    return few


def _named(meters: Collection[str]) -> Column:
    """These meters, or all between the first and the last of many."""
    ordered = sorted(meters)
    if len(ordered) <= MOST_NAMED:
        return F.col("meter").isin(ordered)
    return F.col("meter").between(ordered[0], ordered[-1])


def column_type(name: str) -> str:
    if name in NUMBER_FIELDS:
        return "decimal(18,3)"
    return {"at": "timestamp", "received": "timestamp", "flags": "array<string>", "date": "date"}.get(
        name, "string"
    )


SCHEMA = ", ".join(f"{name} {column_type(name)}" for name in (*COLUMNS, "date"))


def _between(since_ms: int, until_ms: int | None, *, by_day: bool = True) -> Column:
    """Readings from one time up to another. Literals of days and whole hours prune partitions and files.

    No other literals: they differ from pass to pass, and would be part of the generated code (`exact_times.py`).
    """
    found = F.lit(True)
    if since_ms > 0:
        since = F.timestamp_millis(F.lit(since_ms - since_ms % _HOUR_MS))
        day = F.col("date") >= F.to_date(since) if by_day else found
        found = day & (F.col("at") >= since) & is_from("at", since_ms)
    if until_ms is not None and until_ms < _LAST_MS:
        hour = max(until_ms, 0) + -max(until_ms, 0) % _HOUR_MS
        until = F.timestamp_millis(F.lit(hour))
        day = F.col("date") <= F.to_date(until) if by_day else F.lit(True)
        found = found & day & (F.col("at") < until) & is_before("at", until_ms)
    return found
