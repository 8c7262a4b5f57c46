"""Records of `readings` back to typed columns, for every stage that reads the topic.

Anybody may write into the topic. A record counts as a reading only if every stage, the tables and the lake can take it:
one that Postgres refuses would make its batch fail again and again.
"""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain import values
from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.judge import NUMBER
from strom.pipeline.message import header, parsable
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
_TEXTS = tuple(name for name, kind in _TYPES.items() if kind == "string" and name != "other")
_LONGEST_ORIGIN = 300  # a topic's name has at most 249 characters
_LONGEST_TEXT = 1_000

# What Postgres does not take in JSON: NUL, and half a surrogate pair.
_NO_JSONB = r"\\u0000|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"


def typed_readings(records: DataFrame, fields: Collection[str] = ALL_FIELDS) -> DataFrame:
    """Columns of the Kafka source (with headers) in; a reading's fields, its JSON, where it stands and where it came from out.

    With `fields` only these; meter, at and received must be among them. What is no reading is left out.
    """
    return _unfolded(records, fields).where(_is_reading(fields))


def not_readings(records: DataFrame) -> DataFrame:
    """Where those stand that `typed_readings` leaves out."""
    return _unfolded(records, ALL_FIELDS).where(~_is_reading(ALL_FIELDS)).select("partition", "offset")


def _is_reading(fields: Collection[str]) -> Column:
    """Whether `normalise` may have written it; false where anything that it needs is missing."""
    received, at = F.unix_millis("received"), F.unix_millis("at")
    rules = (
        F.length("meter").between(1, values.NAME_LENGTH)
        & plausible_arrival(received)
        & (received >= values.EARLIEST_SECONDS * 1000)
        & at.between(values.EARLIEST_SECONDS * 1000, received + values.AHEAD_SECONDS * 1000)
        & F.col("raw_offset").isNotNull()
        & F.length("origin").between(1, _LONGEST_ORIGIN)
        & F.is_valid_utf8("origin")
        & ~_has_nul(F.col("origin"))
        & _texts_are_storable([name for name in _TEXTS if name in fields], "flags" in fields)
    )
    return F.coalesce(rules & _other_is_object() if "other" in fields else rules, F.lit(False))


def plausible_arrival(received_ms: Column) -> Column:
    """Whether `normalise` may have told this arrival: of a door's clock, and of its own, it may be a year ahead."""
    latest = F.unix_millis("timestamp") + 2 * values.CLOCKS_APART_MS
    return received_ms.between(0, F.least(F.lit(values.LATEST_MS), latest))


def _texts_are_storable(names: Collection[str], flags: bool) -> Column:
    """NUL can only come in as an escape; nearly no record has one, and only such a one is looked at closely."""
    lengths = [F.coalesce(F.length(name) <= _LONGEST_TEXT, F.lit(True)) for name in names]
    texts = [F.coalesce(~_has_nul(F.col(name)), F.lit(True)) for name in names]
    if flags:
        texts.append(
            F.coalesce(~F.exists("flags", lambda flag: F.coalesce(_has_nul(flag), F.lit(False))), F.lit(True))
        )
    return _all(lengths) & (~F.contains("value", F.lit(r"\u0000")) | _all(texts))


def _other_is_object() -> Column:
    """It is passed on as JSON text: it must stand there as an object, and not as a string that looks like one."""
    other = F.col("other")
    stands = F.contains("value", F.lit('"other":{')) & F.startswith(other, F.lit("{"))
    return other.isNull() | (stands & (~F.contains(other, F.lit(r"\u")) | ~other.rlike(_NO_JSONB)))


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
        .select(F.inline(F.array(F.from_json(parsable(F.col("value")), schema))), "value", *placed)
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


def _has_nul(text: Column) -> Column:
    return F.contains(text, F.lit(values.NUL))


def _all(conditions: Collection[Column]) -> Column:
    return reduce(Column.__and__, conditions, F.lit(True))
