"""Leaves out readings that were taken in before: what `normalise` repeats after a restart, and repeated batches.

A reading's origin names its raw record. Records of one raw partition reach one partition of `readings` in their
order, so one high-water mark per pair tells a repeat from a new reading, however long ago the first one was.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.tariffs import TARIFF_FIELDS
from strom.pipeline.exact_times import is_before
from strom.pipeline.given import given
from strom.pipeline.lake.archive import COLUMNS
from strom.pipeline.late import NEVER_LATE_MS, too_late
from strom.pipeline.readings import ORIGIN
from strom.store.mark_tables import Mark

_MARK_SCHEMA = "mark_topic string, mark_raw int, mark_partition int, mark_offset bigint, mark_received bigint"


def fresh_readings(batch: DataFrame, marks: list[Mark]) -> DataFrame:
    """The batch without what the marks cover."""
    kept = [name for name in COLUMNS if name in batch.columns]
    return unmarked(batch, marks).select(*kept, *ORIGIN, "partition")


def each_once(fresh: DataFrame) -> DataFrame:
    """One row per origin."""
    return fresh.dropDuplicates(["meter", "origin"])


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the marks move with a batch, and how many readings it holds: too late ones, repeated ones, others before a time.

    `newest`: the latest `at` among them (epoch ms).
    """

    marks: list[Mark]
    count: int
    late: int
    before: int
    repeated: int
    newest: int | None
    has_tariffs: bool


def reached_marks(fresh: DataFrame, late_ms: int = NEVER_LATE_MS, before_ms: int = -NEVER_LATE_MS) -> Reached:
    found = reached_rows(fresh, late_ms, before_ms).collect()
    return Reached(
        [Mark(*row[:5]) for row in found],
        sum(row["count"] for row in found),
        sum(row["late"] for row in found),
        sum(row["before"] for row in found),
        sum(row["count"] - row["own"] for row in found),
        max((row["newest"] for row in found), default=None),
        any(row["has_tariffs"] for row in found),
    )


def reached_rows(
    fresh: DataFrame, late_ms: int = NEVER_LATE_MS, before_ms: int = -NEVER_LATE_MS
) -> DataFrame:
    """For each pair of partitions its mark, and how many readings there are, are too late, lie before a time, have an offset of their own.

    Offsets are counted in sets of 64, as the bits of one number: a count of distinct ones would move every offset.
    """
    pair = (*ORIGIN[:2], "partition")
    return (
        fresh.groupBy(*pair, F.expr("shiftright(raw_offset, 6)"))
        .agg(
            F.max("raw_offset").alias("raw_offset"),
            F.max(F.unix_millis("received")).alias("received"),
            F.count("*").alias("count"),
            F.count_if(too_late(late_ms)).alias("late"),
            F.count_if(is_before("at", before_ms) & ~too_late(late_ms)).alias("before"),
            F.bit_count(F.bit_or(F.expr("shiftleft(1L, cast(raw_offset & 63 AS int))"))).alias("own"),
            F.max(F.unix_millis("at")).alias("newest"),
            F.max(F.coalesce(*TARIFF_FIELDS).isNotNull()).alias("has_tariffs"),
        )
        .groupBy(*pair)
        .agg(
            *(F.max(name).alias(name) for name in ("raw_offset", "received")),
            *(F.sum(name).alias(name) for name in ("count", "late", "before", "own")),
            *(F.max(name).alias(name) for name in ("newest", "has_tariffs")),
        )
    )


def unmarked(frame: DataFrame, marks: list[Mark]) -> DataFrame:
    """A lower offset that arrived later than everything before belongs to a topic that was made anew: it is new."""
    if not marks:
        return frame
    rows = [(m.topic, m.raw_partition, m.partition, m.raw_offset, m.received) for m in marks]
    known = F.broadcast(given(frame.sparkSession, rows, _MARK_SCHEMA))
    same = (
        (F.col("raw_topic") == F.col("mark_topic"))
        & (F.col("raw_partition") == F.col("mark_raw"))
        & (F.col("partition") == F.col("mark_partition"))
    )
    repeated = (F.col("raw_offset") <= F.col("mark_offset")) & (
        F.unix_millis("received") <= F.col("mark_received")
    )
    return frame.join(known, same & repeated, "left_anti")
