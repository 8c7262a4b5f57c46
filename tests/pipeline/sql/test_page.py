"""Every query in docs/sql.md runs; those that go on are checked as `strom sql --check` does."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.lake.archive import Archive
from strom.pipeline.sql.live import LiveQuery, Wish
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.views import Views
from strom.settings import PipelineSettings, Settings
from tests.pipeline.batches import batch, reading
from tests.pipeline.sql.asking import ask, since

pytestmark = pytest.mark.stack
PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
QUERIES = re.findall(r"^```sql( live)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def own(stack: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    lake = str(tmp_path_factory.mktemp("lake"))
    Archive(spark, lake).append(batch(spark, [reading()]), 1, [])
    return stack.model_copy(update={"pipeline": PipelineSettings(lake=lake)})


def test_the_page_has_both_kinds() -> None:
    assert {live for live, _ in QUERIES} == {"", " live"}


@pytest.mark.parametrize("query", [query for live, query in QUERIES if not live])
def test_a_query_over_what_is_there_runs(own: Settings, spark: SparkSession, query: str) -> None:
    rows = ask(spark, own, query)
    columns = Views(own, Sources(spark.newSession(), own)).query(query).columns
    assert columns
    assert all(set(row) <= set(columns) for row in rows)


@pytest.mark.parametrize("query", [query for live, query in QUERIES if live])
@pytest.mark.parametrize("into", [None, "result"])
def test_a_live_query_would_run(own: Settings, spark: SparkSession, query: str, into: str | None) -> None:
    assert LiveQuery(spark, own, Wish(query, since(0), into)).mode in ("append", "update")
