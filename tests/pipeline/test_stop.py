"""The pipeline ends when it is told to, whatever is under way."""

from threading import Event, Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.pipeline import job as running_pipeline
from strom.pipeline.job import Pipeline
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
LONG = 3600.0  # longer than anybody waits


def wait_long(_rows: Any) -> None:
    Event().wait(LONG)


def test_it_ends_during_a_long_pass_of_its_timer_for_which_a_batch_waits(
    own_settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, batch_waits, ready = Event(), Event(), Event()

    def long_pass(job: StoreJob) -> None:
        began.set()
        spark.sparkContext.parallelize([1], 1).foreachPartition(wait_long)

    def process(job: StoreJob, *batch: Any) -> None:
        batch_waits.set()
        take_in(job, *batch)

    take_in = StoreJob.process
    monkeypatch.setattr(StoreJob, "_pass_if_due", long_pass)
    monkeypatch.setattr(StoreJob, "process", process)
    monkeypatch.setattr(running_pipeline, "TICK_SECONDS", 0.1)
    with Stack(own_settings, ["kafka", "postgres"]) as stack:
        settings = stack.settings
        pipeline = Pipeline(settings, ["archive", "latest"])

        def run() -> None:
            with pipeline._store_job(spark) as store:
                pipeline._follow(spark, None, store, None, ready.set)

        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            assert ready.wait(120)
            until(began.is_set, "the timer's pass began")
            producer = open_producer(settings, "strom-test")
            producer.produce(topics.READINGS, b"foreign")
            assert producer.flush(60) == 0
            until(batch_waits.is_set, "a batch waits for it")
        finally:
            pipeline.stop()
        until(lambda: not thread.is_alive(), "the pipeline has ended", 200)
    # A process would end Spark now; here the batch may have begun a long pass of its own.
    spark.sparkContext.cancelAllJobs()
    until(lambda: not spark.streams.active, "its query has ended")
