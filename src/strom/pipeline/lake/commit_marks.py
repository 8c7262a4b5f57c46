"""What an append to the lake covers, told in its own commit: so the lake knows what it holds, whoever was killed thereafter."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.store.mark_tables import Mark

OPTION = "userMetadata"  # Delta's name for words of the writer in a commit
_NAME = "strom-marks"
_RECENT = 50  # commits: joining files makes some between two appends, and a lake's log has tens of thousands

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
    found = _newest_marks(spark, path, _RECENT)
    return found if found is not None else _newest_marks(spark, path, None) or []


def _newest_marks(spark: SparkSession, path: str, most: int | None) -> list[Mark] | None:
    """Of so many commits, the last ones; None where none of them tells any."""
    told = (
        DeltaTable.forPath(spark, path)
        .history(most)
        .where(F.contains(OPTION, F.lit(f'"{_NAME}"')))
        .sort(F.desc("version"))
        .select(OPTION)
        .head()
    )
    return None if told is None else [Mark(*row) for row in json.loads(told[0])[_NAME]]


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
