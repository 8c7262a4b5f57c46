"""A query that fails goes on from its checkpoint; one that always fails is told."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline import kept
from strom.pipeline.kept import MOST_FAILURES, Kept

SECONDS = 120.0


class Sink:
    """Takes numbers and fails as often as it is told to, after it has seen them."""

    def __init__(self, spark: SparkSession, folder: Path, failures: int) -> None:
        self._source = spark.readStream.format("text").load(str(_lines(folder)))
        self._checkpoint = str(folder / "checkpoint")
        self.failures = failures
        self.attempts: list[tuple[int, int]] = []

    def start(self) -> StreamingQuery:
        writer = self._source.writeStream.foreachBatch(self._take).option(
            "checkpointLocation", self._checkpoint
        )
        return writer.trigger(processingTime="0 seconds").start()

    def _take(self, batch: DataFrame, number: int) -> None:
        self.attempts.append((number, batch.count()))
        if len(self.attempts) <= self.failures:
            raise StromError("Postgres stopped answering")


def _lines(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "lines").write_text("one\ntwo\n", encoding="ascii")
    return source


def _look_until(each: Kept, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        each.look()
        time.sleep(0.02)


def test_a_query_that_fails_goes_on_with_the_batch_it_failed_at(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "FIRST_PAUSE", 0.01)
    sink = Sink(spark, tmp_path, failures=2)
    each = Kept(sink.start)
    try:
        _look_until(each, lambda: each.query.isActive and each.query.lastProgress is not None)
    finally:
        each.query.stop()
    assert sink.attempts == [(0, 2)] * 3


def test_a_query_that_fails_every_time_is_told_with_its_reason(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "FIRST_PAUSE", 0.01)
    sink = Sink(spark, tmp_path, failures=1000)
    each = Kept(sink.start)
    with pytest.raises(StromError, match="Postgres stopped answering"):
        _look_until(each, lambda: False)
    assert len(sink.attempts) == MOST_FAILURES
