"""Every cell must be in exactly one portion, and a meter's cells and readings in the same one."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline import portions as module
from strom.pipeline.portions import portions

METERS, EACH = 40, 3


def rows(spark: SparkSession) -> Any:
    return spark.range(METERS * EACH).select(
        F.concat(F.lit("m"), F.col("id") % METERS).alias("meter"), F.floor(F.col("id") / METERS).alias("cell")
    )


def meters(found: Any) -> list[str]:
    return sorted(row["meter"] for row in found)


def test_a_small_batch_is_one_portion(spark: SparkSession) -> None:
    frame = rows(spark)
    (found,) = portions(frame, METERS * EACH)
    assert len(found.cells) == METERS * EACH
    assert found.of(frame) is frame


def test_readings_are_many_but_cells_are_few(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", METERS * EACH)
    frame = rows(spark)
    (found,) = portions(frame, 1000 * METERS * EACH)
    assert len(found.cells) == METERS * EACH
    assert found.of(frame) is frame


def test_many_cells_come_in_portions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 30)
    frame = rows(spark)
    found = list(portions(frame, 1000))
    assert len(found) == METERS * EACH / 30
    assert meters(cell for part in found for cell in part.cells) == meters(frame.collect())
    assert sum(len(set(meters(part.cells))) for part in found) == METERS
    for part in found:
        assert meters(part.cells) == meters(part.of(frame).collect())


def test_a_batch_of_nothing_is_no_portion(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 30)
    assert list(portions(rows(spark).where("false"), 1000)) == []
