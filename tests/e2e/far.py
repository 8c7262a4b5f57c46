"""A stack out of one process: three brokers, a Spark cluster; and runs of the pipeline beside the one that it keeps."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from pyspark.sql import SparkSession

from strom.settings import (
    EMBEDDED_CLUSTER,
    KafkaSettings,
    MqttSettings,
    PipelineSettings,
    PostgresSettings,
    Settings,
    SparkSettings,
)
from strom.stack.supervisor import Stack
from strom.store.schema import ensure_schema
from strom.streams import topics
from tests.conftest import QUICK_JAVA, free_block
from tests.e2e.everything import Everything, everything
from tests.e2e.way import records

PARTITIONS = 2  # and as many task slots for the real-time query
LOCAL = "local[3]"


def far_settings(home: Path) -> Settings:
    first = free_block(40)
    kafka, spark, mqtt, postgres = first, first + 30, first + 38, first + 39
    return Settings(
        home=home,
        kafka=KafkaSettings(
            port=kafka,
            controller_port=kafka + 1,
            brokers=3,
            heap="192m",
            java_options=QUICK_JAVA,
            partitions=PARTITIONS,
        ),
        mqtt=MqttSettings(port=mqtt),
        postgres=PostgresSettings(port=postgres),
        spark=SparkSettings(
            master=EMBEDDED_CLUSTER,
            port=spark,
            ui_port=spark + 3,
            worker_cores=2,
            worker_memory="700m",
            executor_memory="600m",
            driver_memory="800m",
            java_options=QUICK_JAVA,
            wait_seconds=600,
        ),
        pipeline=PipelineSettings(trigger_seconds=0.5, max_batch=200),
    )


def beside(base: Settings, home: Path, master: str) -> Settings:
    """The same Kafka; a database, a lake and checkpoints of its own."""
    name = "beside_" + "".join(letter for letter in home.name if letter.isalnum())
    with psycopg.connect(base.postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = f"{base.postgres_url.rpartition('/')[0]}/{name}"
    ensure_schema(url)
    return base.model_copy(
        update={
            "home": home,
            "kafka": base.kafka.model_copy(update={"bootstrap": base.kafka_bootstrap, "replication": 3}),
            "postgres": base.postgres.model_copy(update={"url": url}),
            "spark": base.spark.model_copy(update={"master": master}),
        }
    )


@contextmanager
def catching_up(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """`strom pipeline run --until-caught-up` as people start it, from a folder where nothing of Strom is."""
    settings.home.mkdir(parents=True, exist_ok=True)
    with (settings.home / "pipeline.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "strom", "pipeline", "run", "--until-caught-up"],
            env=settings.child_environment(),
            cwd=settings.home,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def said(settings: Settings) -> str:
    return (settings.home / "pipeline.log").read_text(errors="replace")[-4000:]


class Reference:
    """What an undisturbed run in one process makes of the raw records that are there; made anew when there are more."""

    def __init__(self, stack: Stack, spark: SparkSession, folder: Path) -> None:
        self._stack, self._spark, self._folder = stack, spark, folder
        self._count = -1
        self._found: Everything | None = None

    def get(self) -> Everything:
        count = len(records(self._stack.settings, topics.RAW))
        if self._found is None or count != self._count:
            settings = beside(self._stack.settings, self._folder / f"reference{count}", LOCAL)
            with catching_up(settings) as process:
                assert process.wait() == 0, said(settings)
            self._count, self._found = count, everything(settings, self._spark)
        return self._found
