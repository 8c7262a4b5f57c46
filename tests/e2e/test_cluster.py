"""Out of one machine's process: three brokers and a Spark cluster give the same rows, whatever happens to a worker."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.settings import KafkaSettings, PipelineSettings, PostgresSettings, Settings, SparkSettings
from strom.stack.supervisor import Stack
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.admin import admin_client, ensure_contract_topics, topic_names
from strom.streams.inventory import topic_states
from tests.conftest import free_block
from tests.e2e.everything import Everything, assert_same, everything, whatever_the_batches
from tests.e2e.raw import Raw, arrivals, put_raw
from tests.e2e.way import await_taken_in, await_true, outcomes, records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

PARTITIONS = 2  # and as many task slots for the real-time query
NO_PYTHON = "/nowhere/python"  # on the executors: whatever would start it there must fail


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Three brokers, a Spark master with two workers, and Postgres."""
    kafka = free_block(40)
    spark, postgres = kafka + 30, kafka + 39
    settings = Settings(
        home=tmp_path_factory.mktemp("cluster") / "home",
        kafka=KafkaSettings(
            port=kafka, controller_port=kafka + 1, brokers=3, heap="192m", partitions=PARTITIONS
        ),
        postgres=PostgresSettings(port=postgres),
        spark=SparkSettings(
            port=spark,
            ui_port=spark + 3,
            worker_cores=2,
            worker_memory="700m",
            executor_memory="600m",
            driver_memory="800m",
        ),
        pipeline=PipelineSettings(trigger_seconds=0.5, max_batch=300),
    )
    with Stack(settings, ["kafka", "postgres", "spark"]) as stack:
        yield stack


@pytest.fixture(scope="module")
def messages() -> list[Raw]:
    return arrivals(meters=8, hours=1.5, seed=5)


@pytest.fixture(scope="module")
def expected(
    cluster: Stack, messages: list[Raw], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Everything:
    """One run of the same command in one process: what every other run must give."""
    settings = run_settings(cluster.settings, tmp_path_factory.mktemp("local"), "local[3]")
    put_raw(settings, messages)
    caught_up(settings)
    return everything(settings, spark)


def run_settings(base: Settings, home: Path, master: str) -> Settings:
    """A database, a lake and checkpoints of its own, and topics as if nothing had ever been in them."""
    name = f"run_{home.name}".replace("-", "_")
    with psycopg.connect(base.postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = base.postgres_url.rpartition("/")[0] + f"/{name}"
    _empty_topics(base)
    return base.model_copy(
        update={
            "home": home,
            "kafka": base.kafka.model_copy(update={"bootstrap": base.kafka_bootstrap, "replication": 3}),
            "postgres": base.postgres.model_copy(update={"url": url}),
            "spark": base.spark.model_copy(update={"master": master}),
        }
    )


def _empty_topics(settings: Settings) -> None:
    contract = {topic.name for topic in topics.CONTRACT}
    client = admin_client(settings)
    for future in client.delete_topics(list(contract)).values():
        future.result()
    await_true(lambda: not contract & topic_names(settings), "the topics are gone")
    ensure_contract_topics(settings)


@contextmanager
def pipeline(settings: Settings, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """`strom pipeline run` as people start it, from a folder where nothing of Strom is."""
    environment = settings.child_environment() | {"PYSPARK_PYTHON": NO_PYTHON}
    settings.home.mkdir(parents=True, exist_ok=True)
    with (settings.home / "pipeline.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "strom", "pipeline", "run", *flags],
            env=environment,
            cwd=settings.home,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def caught_up(settings: Settings) -> None:
    with pipeline(settings, "--until-caught-up") as process:
        assert process.wait() == 0, said(settings)


def said(settings: Settings) -> str:
    return (settings.home / "pipeline.log").read_text(errors="replace")[-4000:]


def test_the_topics_have_three_copies_and_confirm_with_two(cluster: Stack) -> None:
    states = topic_states(cluster.settings, [topic.name for topic in topics.CONTRACT])
    assert {state.replication for state in states} == {3}
    assert {state.config["min.insync.replicas"] for state in states} == {"2"}


def test_the_same_command_gives_the_same_rows_on_a_cluster(
    cluster: Stack, messages: list[Raw], expected: Everything, spark: SparkSession, tmp_path: Path
) -> None:
    settings = run_settings(cluster.settings, tmp_path / "same", cluster.settings.spark_cluster)
    put_raw(settings, messages)
    caught_up(settings)
    assert len(records(settings, topics.READINGS)) == len(expected.lake)
    assert_same(everything(settings, spark), expected)


def test_a_worker_and_a_broker_lost_in_the_middle_change_no_row(
    cluster: Stack, messages: list[Raw], expected: Everything, spark: SparkSession, tmp_path: Path
) -> None:
    settings = run_settings(cluster.settings, tmp_path / "lost", cluster.settings.spark_cluster)
    half = len(messages) // 2
    put_raw(settings, messages[:half])
    with pipeline(settings) as process:
        await_true(lambda: bool(taken_in(settings.postgres_url)), "the first readings in the tables")
        worker, broker = cluster.kill("spark-worker-1"), cluster.kill("kafka-2")
        put_raw(settings, messages[half:])
        await_true(lambda: len(outcomes(settings)) == len(messages), "an outcome of every raw record")
        await_taken_in(settings)
        assert process.poll() is None, said(settings)
    cluster.await_ready("spark-worker-1", other_than=worker)
    cluster.await_ready("kafka-2", other_than=broker)
    found = everything(settings, spark)
    assert_same(whatever_the_batches(found), whatever_the_batches(expected))
