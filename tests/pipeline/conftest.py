"""One Spark session for all tests of the pipeline."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.session import build_session
from strom.settings import Settings, SparkSettings


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home: Path = tmp_path_factory.mktemp("spark")
    session = build_session(
        Settings(home=home, spark=SparkSettings(master="local[4]", driver_memory="1500m"))
    )
    yield session
    session.stop()
