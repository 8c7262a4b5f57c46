"""A replay gives row for row what the live pipeline gave, into new tables and in place; a swap puts it in their place."""

import random
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.pipeline.replay_into import Into
from strom.pipeline.replay_plan import Plan
from strom.pipeline.store_job import StoreJob
from strom.settings import PipelineSettings, PostgresSettings, Settings
from tests.pipeline.simulated import Arrived, day_batch, simulated_day

pytestmark = pytest.mark.stack
METERS = 5
HOURS = 24
# Everything that people read. Live corrections raise versions; what is built anew begins at 1.
TABLES = {
    "load_profile": "meter, start, import_wh, export_wh, quality, samples, expected, flags, import_quality, "
    "export_quality, import_samples, export_samples",
    "slot_statistics": "*",
    "gaps": "*",
    "alerts": "*",
    "meters": "*",
    "readings_latest": "*",
    "late_readings": "*",
}


def database(stack: Settings, name: str, lake: Path) -> Settings:
    url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    places = {"postgres": PostgresSettings(url=url), "pipeline": PipelineSettings(lake=str(lake))}
    return stack.model_copy(update=places)


def rows_of(settings: Settings, schema: str = "public") -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(
        settings.postgres_url, options=f"-c timezone=UTC -c search_path={schema}"
    ) as connection:
        queries = {table: f"SELECT {columns} FROM {table}" for table, columns in TABLES.items()}  # noqa: S608
        return {
            table: sorted(connection.execute(query.encode()).fetchall(), key=repr)
            for table, query in queries.items()
        }


@pytest.fixture(scope="module")
def day() -> list[Arrived]:
    return simulated_day(METERS, HOURS, "sma-kafka")


@pytest.fixture(scope="module")
def live(
    stack: Settings, spark: SparkSession, day: list[Arrived], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """What the live pipeline made of the day, in micro-batches of any size."""
    settings = database(stack, "replay_live", tmp_path_factory.mktemp("replay") / "lake")
    chance, place = random.Random(5), 0
    job = StoreJob(settings, spark)
    for number in range(100):
        size = chance.choice([40, 900, 2500])
        if day[place : place + size]:
            job.process(day_batch(spark, day[place : place + size]), number)
            job.tick(day[place : place + size][-1].received, caught_up=True)
        place += size
    job.close()
    yield settings
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(b"DROP DATABASE replay_live WITH (FORCE)")


def into(
    settings: Settings, spark: SparkSession, name: str, stop: Event | None = None, **plan: Any
) -> list[str]:
    said: list[str] = []
    Into(settings, spark, Plan(into=name, **plan), said.append).run(stop or Event())
    return said


def test_a_replay_of_a_day_with_every_fault_gives_what_the_live_run_gave(
    live: Settings, spark: SparkSession
) -> None:
    into(live, spark, "fresh")
    assert rows_of(live, "fresh") == rows_of(live)
    kinds = {row[2] for row in rows_of(live)["alerts"]}
    assert kinds == {"silent", "voltage", "counter-back"}
