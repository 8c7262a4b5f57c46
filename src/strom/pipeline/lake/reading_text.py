"""A reading's JSON object from its columns: neither the lake nor a micro-batch keeps the text of the topic."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import reading as rules
from strom.pipeline.judge import quoted
from strom.pipeline.reading_json import time_text_of


def lake_json() -> Column:
    """Absent is absent, whole numbers have no point."""
    members = [
        F.lit(f'"v":{rules.VERSION}'),
        _member("meter", quoted(F.col("meter"))),
        _member("at", quoted(time_text_of(F.unix_millis("at")))),
        _member("received", quoted(time_text_of(F.unix_millis("received")))),
        _member("source", quoted(F.col("source"))),
        _member("clock", quoted(F.col("clock"))),
        *(_member(field, _number(F.col(field))) for field in rules.NUMBER_FIELDS),
        _member("meter_number", quoted(F.col("meter_number"))),
        _member("other", F.col("other")),
        _member("flags", F.when(F.size("flags") > 0, F.to_json("flags"))),
    ]
    return F.concat(F.lit("{"), F.concat_ws(",", *members), F.lit("}"))


def _member(name: str, value: Column) -> Column:
    """Null where there is no value: `concat_ws` leaves it out."""
    return F.concat(F.lit(f'"{name}":'), value)


def _number(value: Column) -> Column:
    """Three decimals are stored; those that say nothing are not shown."""
    return F.regexp_replace(value.cast("string"), r"\.?0+$", "")
