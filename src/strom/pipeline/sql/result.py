"""Rows on their way out of Spark: one JSON text a row, whatever types are in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from strom.pipeline.sql.spark_words import refused


@dataclass(frozen=True)
class Columns:
    names: tuple[str, ...]  # each once: a name that comes again gets a number
    numeric: tuple[bool, ...]


def columns_of(frame: DataFrame) -> Columns:
    return Columns(
        tuple(unique_names(frame.columns)),
        tuple(isinstance(field.dataType, NumericType) for field in frame.schema.fields),
    )


def unique_names(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, fresh = 1, name
        while fresh in found:
            number += 1
            fresh = f"{name}_{number}"
        found.append(fresh)
    return found


def json_rows(frame: DataFrame) -> DataFrame:
    """One column with one JSON object a row, in which absent values are null."""
    named = frame.toDF(*columns_of(frame).names)
    row = F.struct(*(F.col(f"`{name.replace('`', '``')}`") for name in named.columns))
    return named.select(F.to_json(row, {"ignoreNullFields": "false"}).alias("row"))


def fetched(frame: DataFrame, limit: int | None) -> Iterator[str]:
    """The rows of a query over what is there."""
    try:
        if limit is not None:
            yield from (row.row for row in json_rows(frame.limit(limit)).collect())
        else:
            yield from (row.row for row in json_rows(frame).toLocalIterator())
    except (PySparkException, Py4JJavaError) as error:
        raise refused(error) from None
