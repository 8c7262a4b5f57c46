"""Raw records to readings in Spark's native columns: the same rules as `devices/adapter_json.py`, built from the same tables.

Nearly every message takes the short way: one `from_json` with a fixed schema. It is right whenever the JSON had no error,
ended with a brace, and the payload holds exactly one closing brace per register that the schema found, plus the outer
one: then nothing unknown and nothing after the object can be in it. All others take the second look.

Each projection copies its row, so there are four and not one for every thought.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import FREQUENT_OTHERS, METER_NUMBERS
from strom.pipeline.judge import (
    any_of,
    count_of,
    identifier,
    is_bad_identifier,
    is_bad_other,
    last_level,
    matches,
    other_member,
    owner_name,
    plausible,
    told_a_time,
)
from strom.pipeline.message import (
    ENTRY,
    FIELD_REGISTERS,
    FIELD_SPELLINGS,
    STRICT,
    other_name,
    value_name,
    value_of,
)
from strom.pipeline.numbers import numbers
from strom.pipeline.reading_json import reading_json
from strom.pipeline.second_look import second_look
from strom.streams import topics

_CORRUPT = "_corrupt"
_SOURCE_PATTERN = "[a-z0-9-]{1,32}"  # anything else was not written by a door of ours
_LATEST_MS = 4_102_444_800_000  # 2100: an arrival after that was not told by a door of ours
_CARRIED = ("key", "value", "headers", "origin", "published", "received_ms", "source")
SCHEMA = StructType(
    [
        StructField("name", StringType()),
        *(StructField(spelling, ENTRY) for spelling in (*FIELD_SPELLINGS, *FREQUENT_OTHERS)),
        StructField(_CORRUPT, StringType()),
    ]
)


def parse(raw: DataFrame) -> DataFrame:
    """Columns of the Kafka source in; out: `reason` (null for a reading), `meter`, `reading` (its JSON), `headers`, `origin`, and the raw key and value."""
    return raw.transform(_arrived).transform(_taken_apart).transform(_judged).transform(_outcome)


def members(text: Column) -> Column:
    """The payload by the fixed schema."""
    return F.from_json(text, SCHEMA, {**STRICT, "columnNameOfCorruptRecord": _CORRUPT})


def _arrived(raw: DataFrame) -> DataFrame:
    """Where and when the record came from, and its members."""
    header = F.map_from_entries(
        F.coalesce("headers", F.array().cast("array<struct<key:string,value:binary>>"))
    )
    source = header.getItem(topics.HEADER_SOURCE).cast("string")
    told = header.getItem(topics.HEADER_RECEIVED).cast("string").try_cast("bigint")
    sane = told.between(values.EARLIEST_SECONDS * 1000, _LATEST_MS)
    place = ("topic", F.col("partition").cast("string"), F.col("offset").cast("string"))
    return raw.select(
        *_CARRIED[:3],
        F.concat_ws("/", *place).alias("origin"),
        header.getItem(topics.HEADER_PUBLISHED).alias("published"),
        F.when(sane, told).otherwise(F.unix_millis("timestamp")).alias("received_ms"),
        F.when(matches(source, _SOURCE_PATTERN), source).otherwise("kafka").alias("source"),
        header.getItem(topics.HEADER_TOPIC).cast("string").alias("mqtt_topic"),
        members(_text()).alias("message"),
    )


def _text() -> Column:
    return F.coalesce(F.col("value").cast("string"), F.lit(""))


def _taken_apart(arrived: DataFrame) -> DataFrame:
    """For each register the value under the first spelling that is there, the times of all, and the second look where needed."""
    message = F.col("message").getField
    entries = {
        value_name(register): F.coalesce(*map(message, register.spellings)) for register in FIELD_REGISTERS
    }
    entries |= {other_name(index): message(code) for index, code in enumerate(FREQUENT_OTHERS)}
    ordinary = _is_ordinary(_text(), message(_CORRUPT), list(entries.values()))
    return arrived.select(
        *_CARRIED,
        "mqtt_topic",
        message("name").alias("name"),
        *(entry.getField("value").alias(name) for name, entry in entries.items()),
        _distinct([entry.getField("time") for entry in entries.values()]).alias("times"),
        F.when(~ordinary, second_look(_text())).alias("look"),
    )


def _distinct(texts: list[Column]) -> Column:
    """The different texts among these; nearly always all are the same."""
    lowest = F.least(*texts)
    return F.when(lowest.eqNullSafe(F.greatest(*texts)), F.array(lowest)).otherwise(
        F.array_distinct(F.array(*texts))
    )


def _is_ordinary(text: Column, corrupt: Column, entries: list[Column]) -> Column:
    found = reduce(Column.__add__, (entry.isNotNull().cast("int") for entry in entries))
    return F.coalesce(
        corrupt.isNull()
        & (found > 0)
        & F.endswith(text, F.lit("}"))
        & (count_of("}", text) == found + 1)
        & F.is_valid_utf8(text),
        F.lit(False),
    )


def _judged(apart: DataFrame) -> DataFrame:
    """Meter, time, numbers and what else the reading says, each by its rule."""
    ids = [value_of(register) for register in METER_NUMBERS]
    others = [F.col(other_name(index)) for index in range(len(FREQUENT_OTHERS))]
    look = F.col("look").getField
    looked = F.col("look").isNotNull()
    one_time = ~looked & (F.size("times") == 1)
    first_time = F.get("times", F.lit(0))
    times = F.concat("times", F.coalesce(look("times"), F.array().cast("array<string>")))
    return apart.select(
        *_CARRIED,
        look("reason").alias("look_reason"),
        F.when(one_time, plausible(first_time))
        .otherwise(F.array_max(F.transform(times, plausible)))
        .alias("meter_ms"),
        F.when(one_time, told_a_time(first_time)).otherwise(F.exists(times, told_a_time)).alias("told"),
        numbers().alias("numbers"),
        owner_name(F.col("name")).alias("own_name"),
        F.coalesce(*map(identifier, ids)).alias("meter_number"),
        last_level(F.col("mqtt_topic")).alias("level"),
        F.when(looked, look("other"))
        .otherwise(F.concat_ws(",", *map(other_member, map(F.lit, FREQUENT_OTHERS), others)))
        .alias("other"),
        (
            any_of([is_bad_identifier(text) for text in ids])
            | F.when(looked, look("bad")).otherwise(any_of([is_bad_other(text) for text in others]))
        ).alias("bad"),
    )


def _outcome(judged: DataFrame) -> DataFrame:
    meter = F.coalesce("own_name", "meter_number", "level")
    reason = F.coalesce("look_reason", F.when(meter.isNull(), rules.NO_METER))
    return judged.select(
        *("key", "value", "headers", "origin", "published"),
        meter.alias("meter"),
        reason.alias("reason"),
        F.when(reason.isNull(), reading_json(meter)).alias("reading"),
    )
