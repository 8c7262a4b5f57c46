"""Batches of readings of many meters, made by Spark."""

from pyspark.sql import DataFrame, SparkSession

from strom.pipeline import synthetic
from strom.pipeline.normalise import normalise
from strom.pipeline.readings import typed_readings
from tests.pipeline.batches import START


def sent(spark: SparkSession, meters: int, push: int) -> DataFrame:
    """One reading of each meter, all of them normal; every five seconds one."""
    raw = synthetic.as_raw(synthetic.messages(spark, meters, meters, START // 1000, first=push))
    return typed_readings(synthetic.as_records(normalise(raw))).localCheckpoint()
