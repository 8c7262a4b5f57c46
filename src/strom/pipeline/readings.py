"""Records of `readings` back to typed columns, for every stage that reads the topic."""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.judge import NUMBER
from strom.pipeline.message import header
from strom.streams import topics

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
ORIGIN = ("raw_topic", "raw_partition", "raw_offset")  # where the raw record stands
_NEEDED = ("meter", "at", "received")
_IS_READING = " AND ".join(f"{name} IS NOT NULL" for name in (*_NEEDED, "raw_offset"))


def typed_readings(records: DataFrame, fields: Collection[str] = ALL_FIELDS) -> DataFrame:
    """Columns of the Kafka source (with headers) in; a reading's fields, its JSON, where it stands and where it came from out.

    With `fields` only these; meter, at and received must be among them. What was not written by `normalise` (somebody
    else wrote into the topic) has no origin and is left out.
    """
    return _unfolded(records, fields).where(_IS_READING)


def not_readings(records: DataFrame) -> DataFrame:
    """Where those stand that `typed_readings` leaves out."""
    return _unfolded(records, _NEEDED).where(f"NOT ({_IS_READING})").select("partition", "offset")


def _unfolded(records: DataFrame, fields: Collection[str]) -> DataFrame:
    schema = ", ".join(f"{field} {_TYPES[field]}" for field in ALL_FIELDS if field in fields)
    placed = ("origin", *ORIGIN, "published", "partition", "offset", "timestamp")
    # The headers first, in a step of its own: what stands beside the unfolding is copied by it.
    return (
        records.select(
            F.col("value").cast("string").alias("value"),
            header(topics.HEADER_ORIGIN).cast("string").alias("origin"),
            header(topics.HEADER_PUBLISHED).cast("string").try_cast("bigint").alias("published"),
            *("partition", "offset", "timestamp"),
        )
        .withColumns(parts_of_origin())
        # Unfolded rather than selected: a filter on a selected field would go below it, and parse the text once more.
        .select(F.inline(F.array(F.from_json("value", schema))), "value", *placed)
    )


def parts_of_origin() -> dict[str, Column]:
    """Topic, partition and offset of the raw record; without an offset where anything else stands there.

    Neither by `split` nor by a pattern, which make texts of Java of it and take several times as long.
    """
    place = F.substring_index("origin", "/", 2)  # all of it where there are not three parts
    partition = F.substring_index(place, "/", -1).try_cast("int")
    offset = F.substring_index("origin", "/", -1).try_cast("bigint")
    return {
        "raw_topic": F.substring_index("origin", "/", 1),
        "raw_partition": partition,
        "raw_offset": F.when((place != F.col("origin")) & (partition >= 0) & (offset >= 0), offset),
    }
