"""Every reading must be in exactly one portion, and a meter's readings in the same one."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline import portions as module
from strom.pipeline.portions import portions

METERS, EACH = 40, 3


def rows(spark: SparkSession) -> Any:
    times = F.timestamp_millis(F.floor(F.col("id") / METERS) * 600_000)
    return spark.range(METERS * EACH).select(
        F.concat(F.lit("m"), F.col("id") % METERS).alias("meter"), times.alias("at")
    )


def test_what_is_small_is_not_looked_at(spark: SparkSession) -> None:
    frame = rows(spark)
    assert list(portions(frame, METERS * EACH)) == [frame]


def test_readings_are_many_but_cells_are_few(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 100)
    frame = rows(spark).withColumn("at", F.timestamp_millis(F.lit(0)))
    assert list(portions(frame, METERS * EACH)) == [frame]


def test_many_cells_come_in_portions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 30)
    found = [[row.meter for row in part.collect()] for part in portions(rows(spark), METERS * EACH)]
    assert len(found) in (4, 5)  # the number of cells is an estimate
    assert sorted(meter for part in found for meter in part) == sorted(
        f"m{number}" for number in range(METERS) for _ in range(EACH)
    )
    assert sum(len(set(part)) for part in found) == METERS
