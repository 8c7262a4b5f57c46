"""Keeps what several jobs read: whole rows, compressed. Spark's own way takes every row apart into columns, at several times the cost."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


@contextmanager
def held(frame: DataFrame) -> Iterator[DataFrame]:
    """The same frame, computed once while the block lasts; what is lost with an executor is computed again."""
    kept = frame.select(F.struct(*frame.columns).alias("row")).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept.select("row.*")
    finally:
        kept.unpersist()
