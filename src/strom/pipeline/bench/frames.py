"""What a benchmark of the pipeline runs over: messages made in bulk, and the bare Spark jobs that the stages are held against."""

import json

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.load_profile import Direction
from strom.domain.reading import CLOCK_METER
from strom.domain.run_kinds import PHASES
from strom.pipeline.lake.archive import COLUMNS, column_type
from strom.pipeline.message import members
from strom.settings import Settings
from strom.streams import topics


def fill(frame: DataFrame, settings: Settings, topic: str) -> None:
    """Put these records into the topic."""
    (
        frame.withColumn("topic", F.lit(topic))
        .write.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("kafka.compression.type", "lz4")
        .option("kafka.linger.ms", "50")
        .option("kafka.batch.size", "262144")
        .option("includeHeaders", "true")
        .save()
    )


def read(spark: SparkSession, settings: Settings, topic: str, until: int | None = None) -> DataFrame:
    """Everything that the topic holds now, or so many records of each partition, as one batch."""
    ends = {topic: dict.fromkeys(range(settings.kafka.partitions), until)}
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest" if until is None else json.dumps(ends))
        .option("includeHeaders", "true")
        .option("kafka.max.poll.records", "10000")
        .option("kafka.max.partition.fetch.bytes", str(4 * topics.MAX_MESSAGE_BYTES))
        .load()
    )


def lake_readings(
    spark: SparkSession, meters: int, pushes: int, start_s: int, interval_s: int, first: int
) -> DataFrame:
    """Readings as the lake holds them: `pushes` of each meter from `start_s` on, after the `first` ones."""
    meter, push = F.col("id") % meters, F.floor(F.col("id") / meters) + first
    at = F.timestamp_millis((start_s + (push - first) * interval_s) * 1_000)

    def moved(name: str, most: int) -> Column:
        return F.pmod(F.xxhash64(F.lit(name), meter, push), F.lit(most))

    values = {
        "meter": F.format_string("meter-%06d", meter),
        "at": at,
        "received": at + F.expr("INTERVAL 300 MILLISECONDS"),
        "source": F.lit("mqtt"),
        "clock": F.lit(CLOCK_METER),
        "origin": F.concat(F.lit(f"{topics.RAW}/0/"), (push * meters + meter).cast("string")),
        **{f"{way}_wh": meter * 1_000 + push * 5 + moved(f"{way}_wh", 5) for way in Direction},
        **{f"{way}_w": moved(f"{way}_w", 6_000) for way in Direction},
        **{f"voltage_{phase}_v": (moved(phase, 80) + 2300) / 10 for phase in PHASES},
    }
    return spark.range(0, meters * pushes, 1, 1).select(
        *(values.get(name, F.lit(None)).cast(column_type(name)).alias(name) for name in COLUMNS)
    )


def bare_parse(raw: DataFrame) -> DataFrame:
    """The limit of `normalise`: `from_json` with the same schema, and nothing else."""
    return raw.select(members(F.col("value").cast("string")).alias("message"))


def bare_windows(readings: DataFrame, *, parsed_once: bool = False) -> DataFrame:
    """The limit of `profile`: the counters' largest less least per meter and quarter-hour, right only while nothing is odd.

    As everybody writes it Spark parses each reading twice, once for a filter on its time; `parsed_once` keeps it from that.
    """
    schema = "meter string, at timestamp, import_wh decimal(18,3), export_wh decimal(18,3)"
    reading = F.from_json(F.col("value").cast("string"), schema)
    parsed = (
        readings.select(F.inline(F.array(reading)))
        if parsed_once
        else readings.select(reading.alias("reading")).select("reading.*")
    )
    return parsed.groupBy("meter", F.window("at", "15 minutes")).agg(
        (F.max("import_wh") - F.min("import_wh")).alias("import_wh"),
        (F.max("export_wh") - F.min("export_wh")).alias("export_wh"),
    )


def to_nowhere(frame: DataFrame) -> None:
    """Run it and drop what comes out."""
    frame.write.format("noop").mode("overwrite").save()
