"""What a step of a pass costs the driver, and what is left of one whose shards were not all committed."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import fetch
from tests.pipeline.sending import sent

pytestmark = pytest.mark.stack

FEW, MANY = 1_000, 50_000
LEAST_BYTES = 20  # of a meter, if the driver collected anything of each


def test_what_the_driver_collects_does_not_grow_with_the_meters_that_send(
    own: Settings, spark: SparkSession
) -> None:
    job = StoreJob(own, spark, passes=False)

    def collected(meters: int, push: int) -> int:
        batch = sent(spark, meters, push)

        def work() -> None:
            job.process(batch, push)
            job.settle()

        return result_bytes(spark, work)

    collected(FEW, 0)
    few, many = collected(FEW, 1), collected(MANY, 2)
    again = collected(MANY, 3)
    job.close()
    assert fetch(own, "SELECT count(*) FROM readings_latest") == [(MANY,)]
    assert fetch(own, "SELECT count(*) FROM settled_meters") == [(MANY,)]
    assert few > 0
    assert max(many, again) - few < (MANY - FEW) * LEAST_BYTES


def result_bytes(spark: SparkSession, work: Callable[[], object]) -> int:
    """What tasks have sent to the driver meanwhile, as Spark's own metrics tell."""
    before = _results(spark)
    work()
    return sum(size for stage, size in _results(spark).items() if stage not in before)


def _results(spark: SparkSession) -> dict[tuple[int, int], int]:
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    gateway: Any = context._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    found = (stages.apply(place) for place in range(stages.size()))
    return {(each.stageId(), each.attemptId()): each.resultSize() for each in found}
