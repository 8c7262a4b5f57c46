"""Parsed records to records of Kafka: readings to `readings`, everything else as it came to the dead letter.

Good and bad rows leave by one sink through the `topic` column, so that the stage can run in real-time mode.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.reading import DETAILS
from strom.pipeline.parse import parse
from strom.streams import topics

_HEADERS = "array<struct<key:string,value:binary>>"


def normalise(raw: DataFrame) -> DataFrame:
    """Columns of the Kafka source in, columns of the Kafka sink out."""
    parsed = parse(raw)
    refused = F.col("reason").isNotNull()
    return parsed.select(
        F.when(refused, topics.DEAD_LETTER).otherwise(topics.READINGS).alias("topic"),
        F.when(refused, F.col("key")).otherwise(F.col("meter").cast("binary")).alias("key"),
        F.when(refused, F.col("value")).otherwise(F.col("reading").cast("binary")).alias("value"),
        F.when(refused, _refusal_headers()).otherwise(_reading_headers()).alias("headers"),
    )


def _header(key: str, value: Column) -> Column:
    return F.struct(F.lit(key).alias("key"), value.cast("binary").alias("value"))


def _reading_headers() -> Column:
    """Where the reading came from, and when it was published where the sender told."""
    origin = _header(topics.HEADER_ORIGIN, F.col("origin"))
    published = _header(topics.HEADER_PUBLISHED, F.col("published"))
    return (
        F.when(F.col("published").isNull(), F.array(origin))
        .otherwise(F.array(origin, published))
        .cast(_HEADERS)
    )


def _refusal_headers() -> Column:
    """What came with the record stays with it, so that it can be sent in again after a fix."""
    details = F.create_map(*(F.lit(part) for item in DETAILS.items() for part in item))
    why = F.array(
        _header(topics.HEADER_REASON, F.col("reason")),
        _header(topics.HEADER_DETAIL, details[F.col("reason")]),
        _header(topics.HEADER_ORIGIN, F.col("origin")),
    ).cast(_HEADERS)
    return F.concat(F.coalesce(F.col("headers"), F.array().cast(_HEADERS)), why)
