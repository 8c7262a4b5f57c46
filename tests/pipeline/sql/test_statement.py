"""Only queries come in, however they are dressed."""

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.sql.statement import check_query, is_explain, query_of

QUERIES = [
    "SELECT 1",
    "select 1;",
    "-- a word\n/* and\n another */ (SELECT 1)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "VALUES (1), (2)",
    "TABLE readings",
    "FROM readings |> WHERE meter = 'a'",
    "EXPLAIN FORMATTED SELECT 1",
]
FIRST_WORDS = [
    "DROP TABLE readings",
    "SET spark.sql.ansi.enabled = false",
    "-- SELECT\nCREATE TABLE a AS SELECT 1",
    "INSERT INTO a VALUES (1)",
    "CACHE TABLE a",
    "ADD JAR 'a'",
    "EXPLAIN DROP TABLE a",
    "EXECUTE IMMEDIATE 'DROP TABLE a'",
    "BEGIN SELECT 1; END",
    "CALL system.run()",
    "SHOW TABLES",
]
HIDDEN = [
    "WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a",
    "FROM a INSERT INTO b SELECT * INSERT INTO c SELECT *",
]


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_taken_and_keeps_its_places(spark: SparkSession, text: str) -> None:
    check_query(spark, text)
    assert len(query_of(text)) == len(text)


@pytest.mark.parametrize("text", FIRST_WORDS)
def test_what_is_no_query_is_refused_before_spark_sees_it(text: str) -> None:
    with pytest.raises(StromError, match=r"^Only queries can be run here, not \w+; begin with SELECT"):
        query_of(text)


@pytest.mark.parametrize("text", HIDDEN)
def test_what_hides_behind_a_query_is_refused(spark: SparkSession, text: str) -> None:
    query_of(text)
    with pytest.raises(StromError, match="Only queries can be run here, not INSERT;"):
        check_query(spark, text)


def test_two_statements_are_not_a_query(spark: SparkSession) -> None:
    with pytest.raises(StromError, match=r"Syntax error at or near 'DROP'.* \(line 1, column 11\)"):
        check_query(spark, "SELECT 1; DROP TABLE a")


@pytest.mark.parametrize("text", ["", "  \n-- nothing\n", "/* nothing */"])
def test_nothing_is_no_query(text: str) -> None:
    with pytest.raises(StromError, match="The query is empty"):
        query_of(text)


def test_explain_is_known_by_its_word() -> None:
    assert is_explain("-- why\nexplain SELECT 1")
    assert not is_explain("SELECT 'EXPLAIN'")
    assert query_of("EXPLAIN SELECT 1") == "        SELECT 1"
