"""Questions to what is there: the lake, the topics and the tables, each reading once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.lake.archive import Archive
from strom.pipeline.quiet import hush_pyspark
from strom.pipeline.sql.sources import Sources
from strom.settings import KafkaSettings, PipelineSettings, PostgresSettings, Settings
from strom.store.jdbc import jdbc_options
from strom.store.schema import drop_schema, ensure_schema
from tests.pipeline.batches import batch
from tests.pipeline.sql.asking import ask, at_minute, send, set_area
from tests.streams.writing import topic_of, write

pytestmark = pytest.mark.stack


@pytest.fixture(autouse=True)
def _quiet() -> None:
    hush_pyspark()


@pytest.fixture
def own(stack: Settings, tmp_path: Path) -> Settings:
    """The shared servers and a lake of the test's own."""
    return stack.model_copy(update={"pipeline": PipelineSettings(lake=str(tmp_path / "lake"))})


@pytest.fixture
def meter(unique: Callable[[str], str]) -> str:
    return unique("haus")


def test_readings_come_from_the_topic_each_once_and_from_the_lake_when_there_is_one(
    own: Settings, spark: SparkSession, meter: str
) -> None:
    readings = [at_minute(meter, number, number, import_w=100.5 * number) for number in range(3)]
    send(own, [*readings, readings[1]])  # one is repeated, as after a restart of normalise
    query = f"SELECT count(*) AS n, sum(import_w) AS w, max(at) AS last FROM Readings WHERE meter = '{meter}'"  # noqa: S608
    expected = [{"n": 3, "w": 301.5, "last": "2026-01-01T00:02:00.000Z"}]
    assert ask(spark, own, query) == expected
    Archive(spark, own.lake_root).append(batch(spark, readings[:2]), 2, [])
    assert ask(spark, own, query) == [{"n": 2, "w": 100.5, "last": "2026-01-01T00:01:00.000Z"}]
    both = f"SELECT count(*) AS n FROM `topic:readings` WHERE meter = '{meter}' AND key = meter"  # noqa: S608
    assert ask(spark, own, both) == [{"n": 4}]


def test_the_view_has_the_same_columns_wherever_it_comes_from(
    own: Settings, spark: SparkSession, meter: str
) -> None:
    query = "SELECT * FROM readings LIMIT 1"
    send(own, [at_minute(meter, 0, 0, import_w=1)])
    from_topic = ask(spark, own, query)
    Archive(spark, own.lake_root).append(batch(spark, [at_minute(meter, 0, 0)]), 1, [])
    assert list(ask(spark, own, query)[0]) == list(from_topic[0])


@pytest.mark.parametrize("folders", ["readings", "readings/_delta_log"])
def test_a_lake_that_is_only_folders_is_none(
    tmp_path: Path, stack: Settings, spark: SparkSession, folders: str
) -> None:
    (tmp_path / folders).mkdir(parents=True)
    empty = stack.model_copy(update={"pipeline": PipelineSettings(lake=str(tmp_path))})
    assert not Sources(spark, empty).has_lake()


def test_any_topic_can_be_asked_by_its_name(
    stack: Settings, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    name = topic_of(stack, unique("some.topic"), partitions=1)
    write(stack, name, b'{"a": 5}', b"\xff")
    rows = ask(
        spark,
        stack,
        f"SELECT key, get_json_object(value, '$.a') AS a, headers, partition, offset FROM `{name}` ORDER BY offset",  # noqa: S608
    )
    told = {"headers": {"strom-source": "test"}, "partition": 0}
    assert rows == [{"key": "k0", "a": "5", "offset": 0} | told, {"key": "k1", "a": None, "offset": 1} | told]


def test_tables_are_read_from_postgres_and_join_with_readings(
    own: Settings, spark: SparkSession, meter: str
) -> None:
    set_area(own, meter, "Nord")
    send(own, [at_minute(meter, 0, 0, import_w=7)])
    rows = ask(
        spark,
        own,
        f"""
        WITH mine AS (SELECT * FROM readings WHERE meter = '{meter}')
        SELECT mine.meter, m.meter, m.area, m.first_seen, (SELECT count(*) FROM alerts WHERE meter = '{meter}') AS alerts
        FROM mine JOIN meters m ON m.meter = mine.meter
        WHERE mine.meter NOT IN (SELECT meter FROM load_profile)
        """,  # noqa: S608
    )
    assert rows == [{"meter": meter, "meter_2": meter, "area": "Nord", "first_seen": None, "alerts": 0}]


def test_tables_are_read_from_the_schema_that_is_set(
    own: Settings, spark: SparkSession, meter: str, unique: Callable[[str], str]
) -> None:
    name = unique("schema").replace("-", "_")
    elsewhere = own.with_schema(name)
    ensure_schema(elsewhere.postgres_url)
    set_area(own, meter, "Nord")
    set_area(elsewhere, meter, "Süd")
    query = f"SELECT area FROM meters WHERE meter = '{meter}'"  # noqa: S608
    assert ask(spark, elsewhere, query) == [{"area": "Süd"}]
    assert ask(spark, own, query) == [{"area": "Nord"}]
    drop_schema(own.postgres_url, name)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT wat FROM meters", r"name `wat` cannot be resolved.*\(line 1, column 8\)\.$"),
        ("SELECT 1\nFORM meters", r"Syntax error at or near .* \(line 2, column \d+\)\.$"),
        ("SELECT 1/count(*) FROM alerts WHERE false", r"Division by zero.*try_divide"),
        ("SELECT * FROM sma-kafka", "must be back quoted as: `sma-kafka`"),
        (
            "SELECT * FROM sma_kafka",
            "There is no view, table or topic named sma_kafka; did you mean `sma-kafka`",
        ),
        (
            "SELECT * FROM some.place",
            "There is no table some.place; a topic whose name has a dot stands in backticks",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(
    stack: Settings, spark: SparkSession, query: str, sentence: str
) -> None:
    with pytest.raises(StromError, match=sentence) as refused:
        ask(spark, stack, query)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


def test_only_the_servers_that_the_query_needs_are_asked(stack: Settings, spark: SparkSession) -> None:
    nowhere = stack.model_copy(
        update={
            "kafka": KafkaSettings(bootstrap="127.0.0.1:1"),
            "postgres": PostgresSettings(url="postgresql://strom@127.0.0.1:1/strom"),
        }
    )
    assert ask(spark, nowhere, "SELECT 1 AS one") == [{"one": 1}]
    with pytest.raises(StromError, match=r"Postgres at 127\.0\.0\.1:1/strom does not answer"):
        ask(spark, nowhere, "SELECT * FROM meters")
    with pytest.raises(StromError, match=r"^tables are missing in this Postgres; `strom pipeline run` makes"):
        ask(spark, stack.with_schema("nothing_here"), "SELECT * FROM meters")


def test_the_url_of_postgres_is_told_in_javas_way() -> None:
    found = jdbc_options("postgresql://me:secret@[::1]:5433/power?sslmode=require")
    assert found["url"] == "jdbc:postgresql://[::1]:5433/power"
    assert (found["user"], found["password"], found["sslmode"]) == ("me", "secret", "require")
    assert jdbc_options("host=a,b dbname=x")["url"] == "jdbc:postgresql://a:5432,b:5432/x"
    schema = PostgresSettings(url="postgresql://me@h/x", schema_name="fresh")
    assert jdbc_options(Settings(postgres=schema).postgres_url)["options"] == "-c search_path=fresh"
    with pytest.raises(StromError, match="Unix socket"):
        jdbc_options("postgresql:///x?host=/run/postgresql")
