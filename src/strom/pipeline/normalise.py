"""Parsed records to records of Kafka: readings to `readings`, what the side query reads to its topic, the rest to the dead letter.

All rows leave by one sink through the `topic` column, so that the stage can run in real-time mode.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.reading import DETAILS
from strom.pipeline.message import header
from strom.pipeline.parse import ASIDE, parse
from strom.streams import topics

_HEADERS = "array<struct<key:string,value:binary>>"


def normalise(raw: DataFrame, side_partitions: int | None = None) -> DataFrame:
    """Columns of the Kafka source in, columns of the Kafka sink out.

    `side_partitions`: how many the side topic has; None if no fewer than the raw topic.
    """
    reason = F.col("reason")
    is_reading, aside = reason.isNull(), reason == ASIDE
    whole = F.col("meter").cast("binary"), F.col("reading").cast("binary")
    return parse(raw).select(
        F.when(is_reading, topics.READINGS)
        .when(aside, topics.SIDE)
        .otherwise(topics.DEAD_LETTER)
        .alias("topic"),
        F.when(is_reading, whole[0]).otherwise(F.col("key")).alias("key"),
        F.when(is_reading, whole[1]).otherwise(F.col("value")).alias("value"),
        F.when(is_reading, reading_headers())
        .when(aside, _aside_headers())
        .otherwise(_refusal_headers())
        .alias("headers"),
        F.when(aside, _side_partition(side_partitions)).alias("partition"),
    )


def reading_headers() -> Column:
    """Where the reading came from, and when it was published where the sender told."""
    origin = header_of(topics.HEADER_ORIGIN, F.col("origin"))
    published = header_of(topics.HEADER_PUBLISHED, F.col("published"))
    return (
        F.when(F.col("published").isNull(), F.array(origin))
        .otherwise(F.array(origin, published))
        .cast(_HEADERS)
    )


def refusal(detail: Column | None = None) -> tuple[Column, Column]:
    """Why it was refused; in the words of the reason, unless there are better ones."""
    details = F.create_map(*(F.lit(part) for item in DETAILS.items() for part in item))
    usual = details[F.col("reason")]
    told = usual if detail is None else F.coalesce(detail, usual)
    return header_of(topics.HEADER_REASON, F.col("reason")), header_of(topics.HEADER_DETAIL, told)


def and_headers(*more: Column) -> Column:
    """What came with the record stays with it, so that it can be sent in again after a fix."""
    return F.concat(F.coalesce(F.col("headers"), F.array().cast(_HEADERS)), F.array(*more).cast(_HEADERS))


def header_of(key: str, value: Column) -> Column:
    return F.struct(F.lit(key).alias("key"), value.cast("binary").alias("value"))


def _refusal_headers() -> Column:
    return and_headers(*refusal(), header_of(topics.HEADER_ORIGIN, F.col("origin")))


def _aside_headers() -> Column:
    """The arrival is told to the side query where no door has: it sees another time of the record than Kafka tells here."""
    origin = header_of(topics.HEADER_ORIGIN, F.col("origin"))
    received = F.col("received_ms").cast("string")
    told = header(topics.HEADER_RECEIVED).cast("string").eqNullSafe(received)
    return F.when(told, and_headers(origin)).otherwise(
        and_headers(header_of(topics.HEADER_RECEIVED, received), origin)
    )


def _side_partition(partitions: int | None) -> Column:
    """By the raw partition and not by the key: so all records of it stay in order, whoever chose it and by what."""
    raw = F.substring_index(F.substring_index("origin", "/", 2), "/", -1).cast("int")
    return raw if partitions is None else F.pmod(raw, F.lit(partitions))
