"""Raw records to readings in Spark's native columns: the same rules as `devices/adapter_json.py`, built from the same tables.

Nearly every message takes the short way: one `from_json` with a fixed schema. It is right whenever the JSON had no error,
ended with a brace, and the payload holds exactly one closing brace per register that the schema found, plus the outer
one: then nothing unknown and nothing after the object can be in it. All others (`odd`) are read again with care.
"""

import secrets
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import (
    CODE_PATTERN,
    FREQUENT_OTHERS,
    MEASURED,
    METER_NUMBERS,
    SPELLINGS,
)
from strom.pipeline.judge import (
    from_tariffs,
    identifier,
    last_level,
    matches,
    number,
    owner_name,
    plausible,
)
from strom.pipeline.parsed import id_name, other_name, value_name
from strom.pipeline.reading_json import reading_json
from strom.streams import topics

_CORRUPT = "_corrupt"
_STRICT = {
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
    "allowUnquotedFieldNames": "false",
}
_SOURCE_PATTERN = "[a-z0-9-]{1,32}"  # anything else was not written by a door of ours
_ENTRY = StructType([StructField("value", StringType()), StructField("time", StringType())])
_FIELD_REGISTERS = (*MEASURED, *METER_NUMBERS)
_FIELD_SPELLINGS = tuple(spelling for register in _FIELD_REGISTERS for spelling in register.spellings)
_SCHEMA = StructType(
    [
        StructField("name", StringType()),
        *(StructField(spelling, _ENTRY) for spelling in (*_FIELD_SPELLINGS, *FREQUENT_OTHERS)),
        StructField(_CORRUPT, StringType()),
    ]
)


def parse(raw: DataFrame) -> DataFrame:
    """Columns of the Kafka source in; out: `reason` (null for a reading), `meter`, `reading` (its JSON), `headers`, `origin`, and the raw key and value."""
    return (
        raw.transform(_arrival)
        .transform(_registers)
        .transform(_second_look)
        .transform(_rows)
        .transform(_outcome)
    )


def _arrival(raw: DataFrame) -> DataFrame:
    """What the record itself tells: where and when it came from."""
    header = F.map_from_entries(
        F.coalesce("headers", F.array().cast("array<struct<key:string,value:binary>>"))
    )
    source = F.col("header").getItem(topics.HEADER_SOURCE).cast("string")
    told = F.col("header").getItem(topics.HEADER_RECEIVED).cast("string").try_cast("bigint")
    sane = told.between(values.EARLIEST_SECONDS * 1000, 4_102_444_800_000)
    return (
        raw.withColumn("header", header)
        .withColumn("text", F.coalesce(F.col("value").cast("string"), F.lit("")))
        .withColumn("received_ms", F.when(sane, told).otherwise(F.unix_millis("timestamp")))
        .withColumn("source", F.when(matches(source, _SOURCE_PATTERN), source).otherwise("kafka"))
        .withColumn("mqtt_topic", F.col("header").getItem(topics.HEADER_TOPIC).cast("string"))
    )


def _registers(arrived: DataFrame) -> DataFrame:
    """One parse; for each register the value under the first spelling that is there, and the times of all of them."""
    options = {**_STRICT, "columnNameOfCorruptRecord": _CORRUPT}
    field = F.col("parsed").getField
    entries = {
        value_name(register): F.coalesce(*map(field, register.spellings)) for register in _FIELD_REGISTERS
    }
    entries |= {other_name(index): field(spelling) for index, spelling in enumerate(FREQUENT_OTHERS)}
    return (
        arrived.withColumn("parsed", F.from_json("text", _SCHEMA, options))
        .select(
            *(column for column in arrived.columns if column != "header"),
            F.col("header").getItem(topics.HEADER_PUBLISHED).alias("published"),
            *(entry.getField("value").alias(name) for name, entry in entries.items()),
            F.array_distinct(F.array(*(entry.getField("time") for entry in entries.values()))).alias("times"),
            reduce(Column.__add__, (entry.isNotNull().cast("int") for entry in entries.values())).alias(
                "found"
            ),
            field("name").alias("name"),
            field(_CORRUPT).isNotNull().alias("corrupt"),
        )
        .withColumn("odd", ~F.coalesce(_is_ordinary(), F.lit(False)))
    )


def _is_ordinary() -> Column:
    braces = F.length("text") - F.length(F.replace("text", F.lit("}"), F.lit("")))
    return (
        ~F.col("corrupt")
        & (F.col("found") > 0)
        & F.endswith("text", F.lit("}"))
        & (braces == F.col("found") + 1)
        & F.is_valid_utf8("text")
    )


def _second_look(parsed: DataFrame) -> DataFrame:
    """For odd messages only: is it JSON at all, and which registers does it hold that the schema does not name?

    Spark's readers ignore what follows the first value. Put into an array before a word that no sender can guess, a
    payload is JSON exactly if that word is the second and last element.
    """
    word = secrets.token_hex(16)
    wrapped = F.concat(F.lit("["), F.col("text"), F.lit(f',"{word}"]'))
    elements = F.from_json(wrapped, "array<string>", _STRICT)
    is_json = (F.size("elements") == 2) & (F.get("elements", F.lit(1)) == word) & F.is_valid_utf8("text")
    is_object = F.startswith(F.ltrim("text", F.lit(" \t\r\n")), F.lit("{"))
    known = F.exists(F.map_keys("texts"), lambda key: key.isin(list(SPELLINGS)))
    unreadable = F.exists(
        F.map_entries("texts"),
        lambda entry: (
            entry["key"].isin(list(_FIELD_SPELLINGS)) & entry["value"].isNotNull() & ~_is_object(entry)
        ),
    )
    return (
        parsed.withColumn("elements", F.when(F.col("odd"), elements))
        .withColumn("not_json", F.col("odd") & ~F.coalesce(is_json, F.lit(False)))
        .withColumn("not_object", F.col("odd") & ~F.col("not_json") & ~is_object)
        .withColumn("look", F.col("odd") & ~F.col("not_json") & ~F.col("not_object"))
        .withColumn(
            "texts", F.when(F.col("look"), _last_wins(F.from_json("text", "map<string,string>", _STRICT)))
        )
        .withColumn("unknown", F.col("look") & ~F.coalesce(known, F.lit(False)))
        .withColumn("unreadable", F.col("look") & F.coalesce(unreadable, F.lit(False)))
        .withColumn(
            "rest", F.when(F.col("look"), F.transform(F.filter(F.map_entries("texts"), _is_rest), _register))
        )
    )


def _last_wins(members: Column) -> Column:
    return F.map_from_entries(F.map_entries(members))


def _is_rest(entry: Column) -> Column:
    """Whether a member of the message is a register without a field of its own."""
    key = entry["key"]
    return (
        ~key.isin(list(_FIELD_SPELLINGS))
        & matches(key, CODE_PATTERN)
        & F.coalesce(_is_object(entry), F.lit(False))
    )


def _is_object(entry: Column) -> Column:
    """Whether a member, seen as text, is an object and not a string that looks like one: the rewritten message tells."""
    as_object = F.concat(F.lit('"'), entry["key"], F.lit('":{'))
    return F.startswith(entry["value"], F.lit("{")) & F.contains(F.get("elements", F.lit(0)), as_object)


def _register(entry: Column) -> Column:
    return F.struct(entry["key"].alias("key"), F.from_json(entry["value"], _ENTRY, _STRICT).alias("value"))


def _rows(looked: DataFrame) -> DataFrame:
    """Values, meter, time and flags as typed columns."""
    ids = [F.col(value_name(register)) for register in METER_NUMBERS]
    rest_times = F.coalesce(
        F.transform("rest", lambda entry: entry["value"]["time"]), F.array().cast("array<string>")
    )
    return (
        looked.withColumns({register.field: number(register) for register in MEASURED})
        .withColumn(
            "all_times",
            F.when(F.col("rest").isNull(), F.col("times")).otherwise(F.concat("times", rest_times)),
        )
        .withColumn("meter_ms", F.array_max(F.transform("all_times", plausible)))
        .withColumn("at_ms", F.coalesce("meter_ms", "received_ms"))
        .withColumns({id_name(index): identifier(text) for index, text in enumerate(ids)})
        .withColumn("meter_number", F.coalesce(*(id_name(index) for index in range(len(ids)))))
        .withColumn("own_name", owner_name(F.col("name")))
        .withColumn("meter", F.coalesce("own_name", "meter_number", last_level(F.col("mqtt_topic"))))
        .withColumns({f"{direction}_total": from_tariffs(direction) for direction in ("import", "export")})
    )


def _outcome(rows: DataFrame) -> DataFrame:
    reason = (
        F.when(F.col("not_json"), rules.NOT_JSON)
        .when(F.col("not_object"), rules.NOT_AN_OBJECT)
        .when(F.col("unknown"), rules.NO_KNOWN_REGISTER)
        .when(F.col("meter").isNull(), rules.NO_METER)
    )
    origin = F.concat_ws("/", "topic", F.col("partition").cast("string"), F.col("offset").cast("string"))
    return rows.select(
        reason.alias("reason"),
        "meter",
        reading_json().alias("reading"),
        origin.alias("origin"),
        "published",
        "headers",
        "key",
        "value",
    )
