"""The running pipeline: joins the stages to Kafka, the lake and Postgres, and watches over the queries.

`normalise` runs in Spark's real-time mode; all stages on `readings` share one read of the topic in micro-batches.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.errors import StromError
from strom.pipeline.ending import let_finish
from strom.pipeline.normalise import normalise
from strom.pipeline.progress import CaughtUp
from strom.pipeline.readings import typed_readings
from strom.pipeline.session import build_session
from strom.pipeline.sql.user_queries import UserQueries
from strom.pipeline.store_job import STAGES as STORE_STAGES
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.streams import topics

NORMALISE = "normalise"
QUERIES = "queries"  # those that users keep in a folder; none without one
STAGES = (NORMALISE, *STORE_STAGES, QUERIES)
TICK_SECONDS = 5.0

log = logging.getLogger(__name__)


class Pipeline:
    """The stages as streaming queries; `run` returns when stopped, or when caught up if only that was asked for."""

    def __init__(self, settings: Settings, stages: Sequence[str] = STAGES) -> None:
        unknown = [stage for stage in stages if stage not in STAGES]
        if unknown:
            raise StromError(
                f"{unknown[0]} is not a stage of the pipeline; the stages are {', '.join(STAGES)}."
            )
        self._settings = settings
        self._stages = tuple(stages)
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run(self, on_ready: Callable[[], None] = lambda: None, *, until_caught_up: bool = False) -> None:
        spark = build_session(self._settings, "strom-pipeline")
        job = self._store_job(spark)
        own = self._user_queries(spark) if not until_caught_up else None
        try:
            if until_caught_up:
                self._catch_up(spark, job)
            else:
                self._follow(spark, job, own, on_ready)
        finally:
            if own is not None:
                own.stop()
            for query in spark.streams.active:
                query.stop()
            if job is not None:
                job.close()
            spark.stop()

    def _catch_up(self, spark: SparkSession, job: StoreJob | None) -> None:
        """What is there now, and no more: first the readings, then all that is made of them."""
        if NORMALISE in self._stages:
            self._await_end(self._start_normalise(spark, available_now=True))
        if job is not None and not self._stop.is_set():
            self._await_end(self._start_store(spark, job, available_now=True))
            job.tick(_now_ms(), not self._stop.is_set())

    def _await_end(self, query: StreamingQuery) -> None:
        while query.isActive and not self._stop.wait(0.1):
            pass
        if query.exception() is not None:
            _raise_failure([query])
        if not self._stop.is_set():
            log.info("%s caught up", query.name)

    def _follow(
        self, spark: SparkSession, job: StoreJob | None, own: UserQueries | None, on_ready: Callable[[], None]
    ) -> None:
        caught_up = CaughtUp(self._settings) if job is not None else None
        raw = self._start_normalise(spark) if NORMALISE in self._stages else None
        store = self._start_store(spark, job) if job is not None else None
        queries = [query for query in (raw, store) if query is not None]
        self._await(lambda: all(_is_at_work(query) for query in queries), queries)
        if not self._stop.is_set():
            at_work = [stage for stage in self._stages if stage != QUERIES or own is not None]
            log.info("the pipeline is running: %s", ", ".join(at_work))
            on_ready()
            if own is not None:
                own.start()
        while not self._stop.wait(TICK_SECONDS):
            _raise_failure(queries)
            if job is not None and store is not None and caught_up is not None:
                job.tick(_now_ms(), caught_up.tells(raw, store))
        log.info("the pipeline stops")
        if store is not None:
            let_finish(store)

    def _await(self, condition: Callable[[], bool], queries: Sequence[StreamingQuery]) -> None:
        while not condition() and not self._stop.wait(0.1):
            _raise_failure(queries)

    def _store_job(self, spark: SparkSession) -> StoreJob | None:
        chosen = [stage for stage in self._stages if stage in STORE_STAGES]
        return StoreJob(self._settings, spark, chosen) if chosen else None

    def _user_queries(self, spark: SparkSession) -> UserQueries | None:
        folder = self._settings.query_folder if QUERIES in self._stages else None
        return UserQueries(self._settings, spark, folder) if folder is not None else None

    def _start_normalise(self, spark: SparkSession, *, available_now: bool = False) -> StreamingQuery:
        writer = (
            normalise(self._source(spark, topics.RAW))
            .writeStream.format("kafka")
            .queryName(NORMALISE)
            .outputMode("update")
            .option("kafka.bootstrap.servers", self._settings.kafka_bootstrap)
            .option("kafka.max.request.size", str(2 * topics.MAX_MESSAGE_BYTES))
            .option("kafka.compression.type", "lz4")
            # Rows must reach a partition in order and without gaps, or a repeat could not be told from a new one.
            .option("kafka.acks", "all")
            .option("kafka.enable.idempotence", "true")
            .option("kafka.delivery.timeout.ms", str(2**31 - 1))
            .option("checkpointLocation", f"{self._settings.checkpoint_root}/{NORMALISE}")
        )
        if available_now:
            return writer.trigger(availableNow=True).start()
        realtime: DataStreamWriter = writer.trigger(  # type: ignore[call-overload]  # pyspark's own stub lags behind
            realTime=self._settings.pipeline.realtime_batch
        )
        return realtime.start()

    def _start_store(
        self, spark: SparkSession, job: StoreJob, *, available_now: bool = False
    ) -> StreamingQuery:
        name = "+".join(job.stages)
        writer = (
            typed_readings(self._source(spark, topics.READINGS, limit=self._settings.pipeline.max_batch))
            .writeStream.foreachBatch(job.process)
            .queryName(name)
            .option("checkpointLocation", f"{self._settings.checkpoint_root}/{name}")
        )
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._settings.pipeline.trigger_seconds} seconds").start()

    def _source(self, spark: SparkSession, topic: str, limit: int | None = None) -> DataFrame:
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._settings.kafka_bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("includeHeaders", "true")
            # Records that retention removed while the pipeline was away cannot be had; going on is all that is left.
            .option("failOnDataLoss", "false")
            .option("kafka.max.poll.records", "10000")
            .option("kafka.max.partition.fetch.bytes", str(4 * topics.MAX_MESSAGE_BYTES))
        )
        return (reader if limit is None else reader.option("maxOffsetsPerTrigger", limit)).load()


def _is_at_work(query: StreamingQuery) -> bool:
    return bool(query.status["isTriggerActive"]) or query.lastProgress is not None


def _raise_failure(queries: Sequence[StreamingQuery]) -> None:
    for query in queries:
        if not query.isActive:
            failure = query.exception()
            raise StromError(f"the query {query.name} ended: {_first_line(failure)}", exit_code=1)


def _first_line(failure: StreamingQueryException | None) -> str:
    return str(failure).strip().splitlines()[0] if failure else "without an error"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
