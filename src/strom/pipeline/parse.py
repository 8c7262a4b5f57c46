"""Raw records to readings in Spark's native columns: the same rules as `devices/adapter_json.py`, built from the same tables.

Nearly every message takes the short way: one `from_json` with a fixed schema. It is right whenever the JSON had no error,
ended with a brace, and the payload holds exactly one closing brace per register that the schema found, plus the outer
one: then nothing unknown and nothing after the object can be in it. All others (`odd`) are read again with care.
"""

import secrets
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import (
    CODE_PATTERN,
    ERROR_VALUES,
    FREQUENT_OTHERS,
    MEASURED,
    METER_NUMBERS,
    SPELLINGS,
    Register,
)
from strom.streams import topics

NUMBER = f"decimal({values.DIGITS},{values.SCALE})"
_CORRUPT = "_corrupt"
_STRICT = {
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
    "allowUnquotedFieldNames": "false",
}
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
    told = F.col("header").getItem(topics.HEADER_RECEIVED).cast("string").try_cast("bigint")
    sane = told.between(values.EARLIEST_SECONDS * 1000, 4_102_444_800_000)
    return (
        raw.withColumn("header", header)
        .withColumn("text", F.coalesce(F.col("value").cast("string"), F.lit("")))
        .withColumn("received_ms", F.when(sane, told).otherwise(F.unix_millis("timestamp")))
        .withColumn(
            "source", F.coalesce(F.col("header").getItem(topics.HEADER_SOURCE).cast("string"), F.lit("kafka"))
        )
        .withColumn("mqtt_topic", F.col("header").getItem(topics.HEADER_TOPIC).cast("string"))
    )


def _registers(arrived: DataFrame) -> DataFrame:
    """One parse; for each register the value under the first spelling that is there, and the times of all of them."""
    options = {**_STRICT, "columnNameOfCorruptRecord": _CORRUPT}
    field = F.col("parsed").getField
    entries = {
        _value_name(register): F.coalesce(*map(field, register.spellings)) for register in _FIELD_REGISTERS
    }
    entries |= {_other_name(index): field(spelling) for index, spelling in enumerate(FREQUENT_OTHERS)}
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
    is_json = (F.size("elements") == 2) & (F.col("elements")[1] == word) & F.is_valid_utf8("text")
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
        & _matches(key, CODE_PATTERN)
        & F.coalesce(_is_object(entry), F.lit(False))
    )


def _is_object(entry: Column) -> Column:
    """Whether a member, seen as text, is an object and not a string that looks like one: the rewritten message tells."""
    as_object = F.concat(F.lit('"'), entry["key"], F.lit('":{'))
    return F.startswith(entry["value"], F.lit("{")) & F.contains(F.col("elements")[0], as_object)


def _register(entry: Column) -> Column:
    return F.struct(entry["key"].alias("key"), F.from_json(entry["value"], _ENTRY, _STRICT).alias("value"))


def _rows(looked: DataFrame) -> DataFrame:
    """Values, meter, time and flags as typed columns."""
    ids = [F.col(_value_name(register)) for register in METER_NUMBERS]
    rest_times = F.coalesce(
        F.transform("rest", lambda entry: entry["value"]["time"]), F.array().cast("array<string>")
    )
    return (
        looked.withColumns({register.field: _number(register) for register in MEASURED})
        .withColumn(
            "all_times",
            F.when(F.col("rest").isNull(), F.col("times")).otherwise(F.concat("times", rest_times)),
        )
        .withColumn("meter_ms", F.array_max(F.transform("all_times", _plausible)))
        .withColumn("at_ms", F.coalesce("meter_ms", "received_ms"))
        .withColumns({_id_name(index): _identifier(text) for index, text in enumerate(ids)})
        .withColumn("meter_number", F.coalesce(*(_id_name(index) for index in range(len(ids)))))
        .withColumn("own_name", _name(F.col("name")))
        .withColumn("meter", F.coalesce("own_name", "meter_number", _last_level(F.col("mqtt_topic"))))
        .withColumns({f"{direction}_total": _from_tariffs(direction) for direction in ("import", "export")})
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
        _reading_json().alias("reading"),
        origin.alias("origin"),
        "published",
        "headers",
        "key",
        "value",
    )


def _value_name(register: Register) -> str:
    return f"value_{register.code.replace('.', '_')}"


def _id_name(index: int) -> str:
    return f"id_{index}"


def _other_name(index: int) -> str:
    return f"other_{index}"


def _text(register: Register) -> Column:
    return F.col(_value_name(register))


def _number(register: Register) -> Column:
    value = _text(register).try_cast(NUMBER)
    return F.when(~value.isin([F.lit(error).cast(NUMBER) for error in ERROR_VALUES]), value)


def _from_tariffs(direction: str) -> Column:
    """The tariffs' sum where no total came, unless a tariff that came cannot be read."""
    total = next(register for register in MEASURED if register.field == f"{direction}_wh")
    tariffs = [register for register in MEASURED if register.field.startswith(f"{direction}_t")]
    spoiled = _any([_text(tariff).isNotNull() & F.col(tariff.field).isNull() for tariff in tariffs])
    some = _any([F.col(tariff.field).isNotNull() for tariff in tariffs])
    zero = F.lit(0).cast(NUMBER)
    summed = reduce(Column.__add__, (F.coalesce(F.col(tariff.field), zero) for tariff in tariffs)).try_cast(
        NUMBER
    )
    return F.when(_text(total).isNull() & some & ~spoiled, summed)


def _identifier(text: Column) -> Column:
    is_id = _matches(text, values.ID_PATTERN) & ~_matches(text, values.FRACTION_PATTERN) & ~_is_date(text)
    return F.when(is_id, text)


def _is_date(text: Column) -> Column:
    return _matches(text, f"(?s){values.DATE_PATTERN}")


def _name(text: Column) -> Column:
    trimmed = F.trim(text, F.lit(values.BLANKS))
    structure = _any([F.startswith(trimmed, F.lit(start)) for start in values.STRUCTURE_STARTS])
    return F.when((trimmed != "") & (F.length(trimmed) <= values.NAME_LENGTH) & ~structure, trimmed)


def _last_level(topic: Column) -> Column:
    last = F.substring_index(topic, "/", -1)
    return F.when(last != "", last).when(topic != "", topic)


def _plausible(time: Column) -> Column:
    """A time of the meter in ms, if it can be true."""
    time_ms = (time.try_cast(NUMBER) * 1000).cast("bigint")
    earliest, latest = values.EARLIEST_SECONDS * 1000, F.col("received_ms") + values.AHEAD_SECONDS * 1000
    return F.when((time_ms >= earliest) & (time_ms <= latest), time_ms)


def _told_a_time(time: Column) -> Column:
    seconds = time.try_cast(NUMBER)
    return F.coalesce(time.isNotNull() & (seconds.isNull() | (seconds != 0)), F.lit(False))


def _bad_value() -> Column:
    numbers = [_text(register).isNotNull() & F.col(register.field).isNull() for register in MEASURED]
    ids = [
        _text(number).isNotNull() & F.col(_id_name(index)).isNull() & ~_is_date(_text(number))
        for index, number in enumerate(METER_NUMBERS)
    ]
    frequent = [_bad_other(F.col(_other_name(index))) for index in range(len(FREQUENT_OTHERS))]
    rest = F.coalesce(F.exists("rest", lambda entry: _bad_other(entry["value"]["value"])), F.lit(False))
    return F.col("unreadable") | _any([*numbers, *ids, *frequent]) | rest


def _bad_other(text: Column) -> Column:
    return F.coalesce(text.isNotNull() & _other_json(text).isNull(), F.lit(False))


def _other_json(text: Column) -> Column:
    """A value under `other` as JSON: a number where it reads as one, else a text, else nothing.

    The pattern comes first because a cast that fails costs an exception.
    """
    amount = text.try_cast(NUMBER)
    structure = _any([F.startswith(text, F.lit(start)) for start in values.STRUCTURE_STARTS])
    numeric = _matches(text, values.NUMBER_PATTERN)
    plain = ~structure & ~_matches(text, values.INEXACT_PATTERN)
    return F.when(numeric & amount.isNotNull(), _slim(amount.cast("string"))).when(plain, _quoted(text))


def _slim(numbers: Column) -> Column:
    """Numbers with three decimals, in a list or alone, without the zeros at their end: 5.000 is 5."""
    return F.regexp_replace(numbers, r"\.?0+(?=[,}]|$)", "")


def _quoted(text: Column) -> Column:
    listed = F.to_json(F.array(text))
    return F.when(text.isNotNull(), F.substring(listed, F.lit(2), F.length(listed) - 2))


def _other_members() -> Column:
    frequent = [
        _member(F.lit(f'"{code}"'), F.col(_other_name(index))) for index, code in enumerate(FREQUENT_OTHERS)
    ]
    rest = F.transform("rest", lambda entry: _member(_quoted(entry["key"]), entry["value"]["value"]))
    return F.when(
        F.col("rest").isNotNull(), F.array_join(F.filter(rest, lambda member: member.isNotNull()), ",")
    ).otherwise(F.concat_ws(",", *frequent))


def _member(quoted_key: Column, text: Column) -> Column:
    return F.concat(quoted_key, F.lit(":"), _other_json(text))


def _flags() -> Column:
    told = F.exists("all_times", _told_a_time)
    no_clock = F.col("meter_ms").isNull()
    unnamed = F.col("own_name").isNull() & F.col("meter_number").isNull()
    conditions = {
        rules.BAD_VALUE: _bad_value(),
        rules.CLOCK_WRONG: no_clock & told,
        rules.NO_TIME: no_clock & ~told,
        rules.TOTAL_FROM_TARIFFS: F.col("import_total").isNotNull() | F.col("export_total").isNotNull(),
        rules.UNNAMED: unnamed,
    }
    return F.concat_ws(",", *(F.when(conditions[flag], f'"{flag}"') for flag in rules.FLAGS))


def _reading_json() -> Column:
    """The reading as one JSON object: absent is absent, whole numbers have no point."""
    head = F.to_json(
        F.struct(
            F.lit(rules.VERSION).alias("v"),
            "meter",
            _time_text("at_ms").alias("at"),
            _time_text("received_ms").alias("received"),
            "source",
            F.when(F.col("meter_ms").isNull(), rules.CLOCK_RECEIVED)
            .otherwise(rules.CLOCK_METER)
            .alias("clock"),
        )
    )
    return F.concat(
        _without_last(head),
        _numbers(),
        F.coalesce(F.concat(F.lit(',"meter_number":'), _quoted(F.col("meter_number"))), F.lit("")),
        _wrapped_unless_empty(',"other":{', _other_members(), "}"),
        _wrapped_unless_empty(',"flags":[', _flags(), "]"),
        F.lit("}"),
    )


def _numbers() -> Column:
    """The numbers as members of the object, each led by a comma."""
    totals = {f"{way}_wh": F.coalesce(f"{way}_wh", f"{way}_total") for way in ("import", "export")}
    listed = F.to_json(
        F.struct(*(totals.get(field, F.col(field)).alias(field) for field in rules.NUMBER_FIELDS))
    )
    members = F.substring(listed, F.lit(2), F.length(listed) - 1)
    return F.when(members == "}", "").otherwise(F.concat(F.lit(","), _without_last(_slim(members))))


def _time_text(column: str) -> Column:
    moment = F.timestamp_millis(F.col(column))
    whole = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss'Z'")
    exact = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    return F.when(F.col(column) % 1000 == 0, whole).otherwise(exact)


def _without_last(text: Column) -> Column:
    return F.substring(text, F.lit(1), F.length(text) - 1)


def _wrapped_unless_empty(before: str, content: Column, after: str) -> Column:
    return F.when(content == "", "").otherwise(F.concat(F.lit(before), content, F.lit(after)))


def _matches(text: Column, pattern: str) -> Column:
    return text.rlike(rf"\A(?:{pattern})\z")


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(Column.__or__, conditions)
