"""Rows that the driver knows, as a frame to join with; without a Python on the executors, which Spark's own way would start."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def given(spark: SparkSession, rows: Iterable[Sequence[Any]], schema: str) -> DataFrame:
    """Texts and whole numbers; `schema` as in SQL, such as "meter string, since bigint"."""
    names = [column.split()[0] for column in schema.split(",")]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    return spark.range(0, 1, 1, 1).select(
        F.inline(F.from_json(F.lit(text), f"array<struct<{_fields(schema)}>>"))
    )


def of_meters(frame: DataFrame, meters: Iterable[str]) -> DataFrame:
    """The rows of these meters."""
    wanted = given(frame.sparkSession, ((meter,) for meter in meters), "meter string")
    return frame.join(F.broadcast(wanted), "meter", "left_semi")


def _fields(schema: str) -> str:
    return ", ".join(": ".join(column.split()) for column in schema.split(","))
