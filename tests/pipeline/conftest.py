"""Tables, a lake and a job of a test's own, so that every row in them can be compared."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.pipeline.store_job import StoreJob
from strom.settings import PipelineSettings, PostgresSettings, Settings
from strom.store.schema import ensure_schema

pytest.register_assert_rewrite("tests.pipeline.expected_tables")  # so that it is told what differs


@pytest.fixture
def own(stack: Settings, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Settings]:
    """A database and a lake of the test's own."""
    name = unique("store").replace("-", "_")
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
    ensure_schema(url)
    places = {
        "postgres": PostgresSettings(url=url),
        "pipeline": PipelineSettings(lake=str(tmp_path / "lake")),
    }
    yield stack.model_copy(update=places)
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def job(own: Settings, spark: SparkSession) -> Iterator[StoreJob]:
    store = StoreJob(own, spark)
    yield store
    store.close()
