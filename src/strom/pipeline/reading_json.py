"""The reading as one JSON object, written from the columns that the parse has found."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import reading as rules
from strom.domain.obis import FREQUENT_OTHERS, MEASURED, METER_NUMBERS
from strom.pipeline.judge import any_of, is_date_or_time, other_json, quoted, slim, told_a_time
from strom.pipeline.parsed import id_name, other_name, value_of


def reading_json() -> Column:
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
        F.coalesce(F.concat(F.lit(',"meter_number":'), quoted(F.col("meter_number"))), F.lit("")),
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
    return F.when(members == "}", "").otherwise(F.concat(F.lit(","), _without_last(slim(members))))


def _other_members() -> Column:
    frequent = [
        _member(F.lit(f'"{code}"'), F.col(other_name(index))) for index, code in enumerate(FREQUENT_OTHERS)
    ]
    rest = F.transform("rest", lambda entry: _member(quoted(entry["key"]), entry["value"]["value"]))
    return F.when(
        F.col("rest").isNotNull(), F.array_join(F.filter(rest, lambda member: member.isNotNull()), ",")
    ).otherwise(F.concat_ws(",", *frequent))


def _member(quoted_key: Column, text: Column) -> Column:
    return F.concat(quoted_key, F.lit(":"), other_json(text))


def _flags() -> Column:
    told = F.exists("all_times", told_a_time)
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


def _bad_value() -> Column:
    numbers = [value_of(register).isNotNull() & F.col(register.field).isNull() for register in MEASURED]
    ids = [
        value_of(number).isNotNull() & F.col(id_name(index)).isNull() & ~is_date_or_time(value_of(number))
        for index, number in enumerate(METER_NUMBERS)
    ]
    frequent = [_bad_other(F.col(other_name(index))) for index in range(len(FREQUENT_OTHERS))]
    rest = F.coalesce(F.exists("rest", lambda entry: _bad_other(entry["value"]["value"])), F.lit(False))
    return F.col("unreadable") | any_of([*numbers, *ids, *frequent]) | rest


def _bad_other(text: Column) -> Column:
    return F.coalesce(text.isNotNull() & other_json(text).isNull(), F.lit(False))


def _time_text(column: str) -> Column:
    moment = F.timestamp_millis(F.col(column))
    whole = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss'Z'")
    exact = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    return F.when(F.col(column) % 1000 == 0, whole).otherwise(exact)


def _without_last(text: Column) -> Column:
    return F.substring(text, F.lit(1), F.length(text) - 1)


def _wrapped_unless_empty(before: str, content: Column, after: str) -> Column:
    return F.when(content == "", "").otherwise(F.concat(F.lit(before), content, F.lit(after)))
