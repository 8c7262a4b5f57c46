"""Records of `readings` back to typed columns, for every stage that reads the topic."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.judge import NUMBER
from strom.pipeline.message import header
from strom.streams import topics

_ORIGIN_PATTERN = r"\A[^/]+/[0-9]{1,9}/[0-9]{1,18}\z"  # anything else was not written by `normalise`
_TYPES = {
    "meter": "string",
    "at": "timestamp",
    "received": "timestamp",
    "source": "string",
    "clock": "string",
    **dict.fromkeys(NUMBER_FIELDS, NUMBER),
    "meter_number": "string",
    "other": "string",
    "flags": "array<string>",
}
ALL_FIELDS = tuple(_TYPES)
_NEEDED = ("meter", "at", "received")
_IS_READING = " AND ".join(f"{name} IS NOT NULL" for name in (*_NEEDED, "origin"))


def typed_readings(records: DataFrame, fields: Collection[str] = ALL_FIELDS) -> DataFrame:
    """Columns of the Kafka source (with headers) in; a reading's fields, its JSON and where it stands out.

    With `fields` only these; meter, at and received must be among them. What was not written by `normalise` (somebody
    else wrote into the topic) has no origin and is left out.
    """
    return _unfolded(records, fields).where(_IS_READING)


def not_readings(records: DataFrame) -> DataFrame:
    """Where those stand that `typed_readings` leaves out."""
    return _unfolded(records, _NEEDED).where(f"NOT ({_IS_READING})").select("partition", "offset")


def _unfolded(records: DataFrame, fields: Collection[str]) -> DataFrame:
    origin = header(topics.HEADER_ORIGIN).cast("string")
    schema = ", ".join(f"{field} {_TYPES[field]}" for field in ALL_FIELDS if field in fields)
    placed = ("origin", "published", "partition", "offset", "timestamp")
    # The headers first, in a step of its own: what stands beside the unfolding is copied by it.
    return (
        records.select(
            F.col("value").cast("string").alias("value"),
            F.when(origin.rlike(_ORIGIN_PATTERN), origin).alias("origin"),
            header(topics.HEADER_PUBLISHED).cast("string").try_cast("bigint").alias("published"),
            *placed[2:],
        )
        # Unfolded rather than selected: a filter on a selected field would go below it, and parse the text once more.
        .select(F.inline(F.array(F.from_json("value", schema))), "value", *placed)
    )
