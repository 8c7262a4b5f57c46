"""Records of `readings` back to typed columns, for every stage that reads the topic."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.judge import NUMBER
from strom.streams import topics

_ORIGIN_PATTERN = r"\A[^/]+/[0-9]{1,9}/[0-9]{1,18}\z"  # anything else was not written by `normalise`
_SCHEMA = ", ".join(
    [
        "meter string, at timestamp, received timestamp, source string, clock string",
        *(f"{field} {NUMBER}" for field in NUMBER_FIELDS),
        "meter_number string, other string, flags array<string>",
    ]
)


def typed_readings(records: DataFrame) -> DataFrame:
    """Columns of the Kafka source (with headers) in; a reading's fields, its JSON and where it stands out.

    What was not written by `normalise` (somebody else wrote into the topic) has no origin and is left out.
    """
    origin = _header(topics.HEADER_ORIGIN)
    return (
        records.select(
            F.from_json(F.col("value").cast("string"), _SCHEMA).alias("reading"),
            F.col("value").cast("string").alias("value"),
            F.when(origin.rlike(_ORIGIN_PATTERN), origin).alias("origin"),
            _header(topics.HEADER_PUBLISHED).try_cast("bigint").alias("published"),
            "partition",
            "offset",
            "timestamp",
        )
        .where("reading.meter IS NOT NULL AND reading.at IS NOT NULL AND reading.received IS NOT NULL")
        .where("origin IS NOT NULL")
        .select("reading.*", "value", "origin", "published", "partition", "offset", "timestamp")
    )


def _header(key: str) -> Column:
    """The last header of this name as text; null where there is none."""
    named = F.filter("headers", lambda header: header["key"] == key)
    return F.try_element_at(named, F.lit(-1))["value"].cast("string")
