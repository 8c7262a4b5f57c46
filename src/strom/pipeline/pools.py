"""The scheduler pools of the running pipeline, as in `pools.xml`: whose jobs get a task slot that becomes free."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

REAL_TIME, BATCHES, QUESTIONS = "real-time", "default", "questions"
_POOL = "spark.scheduler.pool"


@contextmanager
def in_pool(spark: SparkSession, name: str) -> Iterator[None]:
    """Jobs of threads that are started within this block run in the pool; without the fair scheduler the name means nothing."""
    context = spark.sparkContext
    context.setLocalProperty(_POOL, name)
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, None)  # type: ignore[arg-type]  # removes it
