"""The topic `readings` as a source of a replay: what it still holds of the readings that the lake has."""

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.pipeline.fresh import each_once, fresh_readings, unmarked
from strom.pipeline.lake.archive import COLUMNS
from strom.pipeline.readings import typed_readings
from strom.settings import Settings
from strom.store.mark_tables import Mark
from strom.streams import topics


def topic_readings(settings: Settings, spark: SparkSession, marks: list[Mark]) -> DataFrame:
    """Each origin once, without what the marks do not cover yet; kept on disk, for a replay reads it often."""
    records = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("subscribe", topics.READINGS)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "false")
        .load()
    )
    readings = each_once(fresh_readings(typed_readings(records), [])).persist(StorageLevel.DISK_ONLY)
    covered = readings.join(
        unmarked(readings, marks).select("origin", "received"), ["origin", "received"], "left_anti"
    )
    return covered.select(*COLUMNS, F.to_date("at").alias("date")).persist(StorageLevel.DISK_ONLY)
