"""The pipeline's streaming queries: a topic as it grows, `normalise` on it, what that passes on, and the stages on `readings`."""

from collections.abc import Sequence
from enum import Enum

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.pipeline.normalise import normalise
from strom.pipeline.pools import REAL_TIME, in_pool
from strom.pipeline.readings import typed_readings
from strom.pipeline.side_job import SideJob
from strom.pipeline.sink import sink_options
from strom.pipeline.stages import NORMALISE, SIDE
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store.schema import connect
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import find_topics

_PATIENCE = 3.0  # for Kafka's answer before a start; a start that fails is tried again
LIVE_LINGER_MS = (
    10  # what the real-time query waits for company: requests of a few records are most of Kafka's work
)
_SIDE_BATCH = 100_000  # records in one: some seconds of decoding, and what is repeated after a kill


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
        .option("kafka.isolation.level", "read_committed")  # a transaction that was aborted was never sent
        .option("kafka.max.poll.records", "10000")
        .option("kafka.max.partition.fetch.bytes", str(4 * topics.MAX_MESSAGE_BYTES))
    )
    return (reader if limit is None else reader.option("maxOffsetsPerTrigger", limit)).load()


def refuse_if_away(settings: Settings, names: Sequence[str], *, postgres: bool = False) -> None:
    """StromError if Kafka, a topic or Postgres is away: Spark itself would notice it only after minutes."""
    find_topics(settings, admin_client(settings), names, timeout=_PATIENCE)
    if postgres:
        connect(settings.postgres_url).close()


def start_normalise(
    spark: SparkSession,
    settings: Settings,
    trigger: Trigger = Trigger.REAL_TIME,
    checkpoint: str | None = None,
    start: str = "earliest",
) -> StreamingQuery:
    """The raw topic to `readings`, dead letters and the side topic."""
    side_partitions = find_topics(settings, admin_client(settings), [topics.SIDE])[topics.SIDE]
    writer = (
        normalise(source(spark, settings, topics.RAW, start=start), side_partitions)
        .writeStream.format("kafka")
        .queryName(NORMALISE)
        .outputMode("update")
        .options(
            **sink_options(settings, linger_ms=20 if trigger is Trigger.AVAILABLE_NOW else LIVE_LINGER_MS)
        )
        .option("checkpointLocation", checkpoint or f"{settings.checkpoint_root}/{NORMALISE}")
    )
    if trigger is Trigger.AVAILABLE_NOW:
        return writer.trigger(availableNow=True).start()
    if trigger is Trigger.MICRO_BATCHES:
        return writer.start()
    realtime: DataStreamWriter = writer.trigger(  # type: ignore[call-overload]  # pyspark's own stub lags behind
        realTime=settings.pipeline.realtime_batch
    )
    with in_pool(spark, REAL_TIME):
        return realtime.start()


def start_side(
    spark: SparkSession, settings: Settings, job: SideJob, *, available_now: bool = False
) -> StreamingQuery:
    """The side topic to `readings` and dead letters."""
    records = source(spark, settings, topics.SIDE, min(_SIDE_BATCH, settings.pipeline.max_batch))
    writer = (
        records.writeStream.foreachBatch(job.process)
        .queryName(SIDE)
        .option("checkpointLocation", f"{settings.checkpoint_root}/{SIDE}")
    )
    if available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{settings.pipeline.side_seconds} seconds").start()


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
