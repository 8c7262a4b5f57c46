"""A batch must run code that the batches before it have compiled: new code is interpreted until it is compiled, too."""

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START
from tests.pipeline.sending import sent

pytestmark = pytest.mark.stack

METERS, PUSH_MS = 50, 5_000
WARM_UP = 3  # rounds: some code is only needed once there are a few files


def test_later_batches_and_passes_generate_no_new_code(own: Settings, spark: SparkSession) -> None:
    job = StoreJob(own, spark, passes=False)

    def round_of(push: int) -> int:
        batch = sent(spark, METERS, push)
        before = generated_classes(spark)
        job.process(batch, push)
        job.settle(START + push * PUSH_MS - 3_000)
        return generated_classes(spark) - before

    counts = [round_of(push) for push in range(WARM_UP + 3)]
    job.close()
    assert counts[0] > 0
    assert counts[WARM_UP:] == [0, 0, 0]


def generated_classes(spark: SparkSession) -> int:
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics  # type: ignore[union-attr]
    return int(metrics.METRIC_COMPILATION_TIME().getCount())
