"""The pipeline's streaming queries: a topic as it grows, `normalise` on it, and the stages on `readings`."""

from enum import Enum

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.pipeline.normalise import normalise
from strom.pipeline.readings import typed_readings
from strom.pipeline.stages import NORMALISE
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.streams import topics


class Trigger(Enum):
    """How `normalise` goes on: the live way, micro-batches as fast as they go, or until what is there is done."""

    REAL_TIME = "real-time"
    MICRO_BATCHES = "micro-batches"
    AVAILABLE_NOW = "available now"


def source(
    spark: SparkSession, settings: Settings, topic: str, limit: int | None = None, start: str = "earliest"
) -> DataFrame:
    """A topic as it grows, from its beginning unless told otherwise; at most `limit` records in a micro-batch."""
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", start)
        .option("includeHeaders", "true")
        # Records that retention removed while the pipeline was away cannot be had; going on is all that is left.
        .option("failOnDataLoss", "false")
        .option("kafka.max.poll.records", "10000")
        .option("kafka.max.partition.fetch.bytes", str(4 * topics.MAX_MESSAGE_BYTES))
    )
    return (reader if limit is None else reader.option("maxOffsetsPerTrigger", limit)).load()


def start_normalise(
    spark: SparkSession,
    settings: Settings,
    trigger: Trigger = Trigger.REAL_TIME,
    checkpoint: str | None = None,
    start: str = "earliest",
) -> StreamingQuery:
    """The raw topic to `readings` and dead letters."""
    writer = (
        normalise(source(spark, settings, topics.RAW, start=start))
        .writeStream.format("kafka")
        .queryName(NORMALISE)
        .outputMode("update")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("kafka.max.request.size", str(2 * topics.MAX_MESSAGE_BYTES))
        .option("kafka.compression.type", "lz4")
        # A backlog goes out in full requests; what comes one by one does not wait for company.
        .option("kafka.batch.size", str(256 * 1024))
        .option("kafka.linger.ms", "20" if trigger is Trigger.AVAILABLE_NOW else "0")
        # Rows must reach a partition in order and without gaps, or a repeat could not be told from a new one.
        .option("kafka.acks", "all")
        .option("kafka.enable.idempotence", "true")
        .option("kafka.delivery.timeout.ms", str(2**31 - 1))
        .option("checkpointLocation", checkpoint or f"{settings.checkpoint_root}/{NORMALISE}")
    )
    if trigger is Trigger.AVAILABLE_NOW:
        return writer.trigger(availableNow=True).start()
    if trigger is Trigger.MICRO_BATCHES:
        return writer.start()
    realtime: DataStreamWriter = writer.trigger(  # type: ignore[call-overload]  # pyspark's own stub lags behind
        realTime=settings.pipeline.realtime_batch
    )
    return realtime.start()


def start_store(
    spark: SparkSession, settings: Settings, job: StoreJob, *, available_now: bool = False
) -> StreamingQuery:
    """All stages on `readings` as one query."""
    name = "+".join(job.stages)
    records = source(spark, settings, topics.READINGS, settings.pipeline.max_batch)
    writer = (
        typed_readings(records, job.fields)
        .writeStream.foreachBatch(job.process)
        .queryName(name)
        .option("checkpointLocation", f"{settings.checkpoint_root}/{name}")
    )
    if available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{settings.pipeline.trigger_seconds} seconds").start()
