"""What the pipeline asks of a cluster before it starts: a master that answers, enough task slots, a way back to it."""

import threading

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.cluster import await_slots, driver_host
from strom.pipeline.session import build_session
from strom.settings import Settings, SparkSettings
from tests.conftest import free_ports


def with_master(master: str, **more: object) -> Settings:
    return Settings(spark=SparkSettings.model_validate({"master": master, "wait_seconds": 0.3, **more}))


@pytest.mark.parametrize(
    ("master", "given", "host"),
    [
        ("local[8]", None, "127.0.0.1"),
        ("spark://127.0.0.1:7077", None, "127.0.0.1"),
        ("cluster", None, "127.0.0.1"),
        ("spark://10.0.0.1:7077", None, None),
        ("spark://a:7077,b:7077", "10.0.0.9", "10.0.0.9"),
        ("k8s://https://127.0.0.1:6443", None, None),
    ],
)
def test_executors_find_the_driver_where_they_can_reach_it(
    master: str, given: str | None, host: str | None
) -> None:
    assert driver_host(with_master(master, driver_host=given)) == host


def test_a_master_that_does_not_answer_is_told_by_its_address() -> None:
    (port,) = free_ports(1)
    with pytest.raises(
        StromError, match=rf"No Spark master answers at spark://127\.0\.0\.1:{port} .*strom stack spark"
    ):
        build_session(with_master(f"spark://127.0.0.1:{port}"))


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(StromError, match="write it as spark://host:port"):
        build_session(with_master("spark://somewhere"))


def test_too_few_threads_are_refused_with_the_number_that_is_needed(spark: SparkSession) -> None:
    with pytest.raises(StromError, match=r"set it to local\[5\] or higher"):
        await_slots(spark, with_master("local[4]"), 5, threading.Event().wait)
    await_slots(spark, with_master("local[4]"), 4, threading.Event().wait)


def test_a_cluster_with_too_few_cores_is_refused_after_a_while(spark: SparkSession) -> None:
    with pytest.raises(StromError, match="gives 4 task slots, but the pipeline needs 5"):
        await_slots(spark, with_master("spark://10.0.0.1:7077"), 5, threading.Event().wait)


def test_a_stop_ends_the_wait_for_executors(spark: SparkSession) -> None:
    asked: list[float] = []

    def stopped(seconds: float) -> bool:
        asked.append(seconds)
        return True

    await_slots(spark, with_master("spark://10.0.0.1:7077", wait_seconds=600), 5, stopped)
    assert len(asked) == 1
