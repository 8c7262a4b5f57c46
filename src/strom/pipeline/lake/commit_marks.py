"""What an append to the lake covers, told in its own commit: so the lake knows what it holds, whoever was killed thereafter."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from strom.pipeline.lake.commit_log import CommitLog
from strom.store.mark_tables import Mark

_NAME = "strom-marks"
_AT_ONCE = 50  # commits: joining files makes some between two appends

Pair = tuple[str, int, int]  # a raw topic, its partition, the partition of `readings`


def as_text(marks: Iterable[Mark]) -> str:
    rows = [
        [each.topic, each.raw_partition, each.partition, each.raw_offset, each.received] for each in marks
    ]
    return json.dumps({_NAME: rows}, separators=(",", ":"))


def version(spark: SparkSession, path: str) -> int:
    """The table's newest one. Asked of Delta's log itself, for every batch asks: the history takes ten times as long."""
    jvm: Any = spark._jvm
    nothing = jvm.scala.Option.empty()
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    return int(log.update(False, nothing, nothing).version())


def newest_marks(spark: SparkSession, path: str) -> list[Mark]:
    """Those of the last append; what was done to the files since tells none."""
    log = CommitLog(spark, path)
    last = version(spark, path)
    oldest = log.oldest(last)
    while last >= oldest:
        first = max(oldest, last - _AT_ONCE + 1)
        if (text := log.newest_metadata(first, last, f'"{_NAME}"')) is not None:
            return [Mark(*row) for row in json.loads(text)[_NAME]]
        last = first - 1
    return []


def later_marks(one: Iterable[Mark], other: Iterable[Mark]) -> list[Mark]:
    """Of each pair of partitions the mark that was made later: arrivals only grow, and with the same one offsets do."""
    found: dict[Pair, Mark] = {}
    for mark in (*one, *other):
        known = found.get(_pair(mark))
        if known is None or (mark.received, mark.raw_offset) > (known.received, known.raw_offset):
            found[_pair(mark)] = mark
    return list(found.values())


def moved(known: Iterable[Mark], reached: Iterable[Mark]) -> list[Mark]:
    """The reached marks as they stand once they are saved: the arrival never goes back."""
    before = {_pair(mark): mark.received for mark in known}
    return [replace(mark, received=max(mark.received, before.get(_pair(mark), 0))) for mark in reached]


def _pair(mark: Mark) -> Pair:
    return mark.topic, mark.raw_partition, mark.partition
