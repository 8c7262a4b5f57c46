"""Only queries: Spark would also create, drop and set things, and none of that may come in here."""

import re
from typing import NoReturn

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.sql.spark_words import refused

_SPACE = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_EXPLAIN = re.compile(r"EXPLAIN(?:\s+(?:EXTENDED|FORMATTED|COST|CODEGEN))?\b", re.IGNORECASE)
_WORD = re.compile(r"[(\s]*(\w+)")
# How a query can begin. Everything else that Spark reads changes something or runs a text of its own.
_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE"})
_CHANGES = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)  # what may follow such a beginning


def query_of(text: str) -> str:
    """The query itself, as it stands: without a leading EXPLAIN; what does not begin as a query is refused.

    What is left out becomes spaces, so that lines and columns stay those of the text.
    """
    begin = _after_space(text, 0)
    if explain := _EXPLAIN.match(text, begin):
        text = re.sub(r"[^\n]", " ", text[: explain.end()]) + text[explain.end() :]
        begin = _after_space(text, explain.end())
    word = _WORD.match(text, begin)
    if begin >= len(text):
        raise StromError("The query is empty; write one such as SELECT * FROM readings.")
    if word is None or word[1].upper() not in _QUERY_WORDS:
        raise _no_query(word[1].upper() if word else text[begin : begin + 10])
    return text


def is_explain(text: str) -> bool:
    return _EXPLAIN.match(text, _after_space(text, 0)) is not None


def check_query(spark: SparkSession, text: str) -> None:
    """Parse it, and refuse what hides behind a query's beginning: WITH … INSERT, FROM … INSERT.

    A view can be made of a query and of nothing else, so Spark's own parser tells; EXPLAIN makes none.
    """
    query = query_of(text)
    try:
        spark.sql(f"EXPLAIN CREATE OR REPLACE TEMPORARY VIEW question AS\n{query}")
    except ParseException:
        _refuse(spark, query)
    except PySparkException as error:
        raise refused(error, lines_before=1) from None


def _refuse(spark: SparkSession, query: str) -> NoReturn:
    """It is no query: either no statement at all, or another one."""
    try:
        spark.sql(f"EXPLAIN\n{query}")
    except PySparkException as error:
        raise refused(error, lines_before=1) from None
    found = _CHANGES.search(query)
    raise _no_query(found[0].upper() if found else "such a statement")


def _after_space(text: str, begin: int) -> int:
    """Where the next word is, after blanks and comments."""
    found = _SPACE.match(text, begin)
    return found.end() if found else begin


def _no_query(what: str) -> StromError:
    return StromError(f"Only queries can be run here, not {what}; begin with SELECT, WITH, VALUES or FROM.")
