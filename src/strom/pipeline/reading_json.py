"""The reading as one JSON object, written from the columns that the parse has judged."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import reading as rules
from strom.pipeline.judge import quoted


def reading_json(meter: Column) -> Column:
    """The reading as one JSON object: absent is absent, whole numbers have no point."""
    no_clock = F.col("meter_ms").isNull()
    return F.concat(
        F.lit(f'{{"v":{rules.VERSION},"meter":'),
        _name_json(meter),
        F.lit(',"at":"'),
        time_text_of(F.coalesce("meter_ms", "received_ms")),
        F.lit('","received":"'),
        time_text_of(F.col("received_ms")),
        F.lit('","source":"'),
        "source",
        F.when(no_clock, f'","clock":"{rules.CLOCK_RECEIVED}"').otherwise(f'","clock":"{rules.CLOCK_METER}"'),
        _unless_empty(",", F.coalesce("stands", "numbers.members")),
        F.coalesce(F.concat(F.lit(',"meter_number":'), quoted(F.col("meter_number"))), F.lit("")),
        _unless_empty(',"other":{', F.col("other"), "}"),
        _unless_empty(',"flags":[', _flags(no_clock), "]"),
        F.lit("}"),
    )


def _name_json(meter: Column) -> Column:
    """What a message without escapes says needs none either."""
    plain = ~F.col("escaped") & F.col("own_name").isNotNull()
    return F.when(plain, F.concat(F.lit('"'), meter, F.lit('"'))).otherwise(quoted(meter))


def _flags(no_clock: Column) -> Column:
    conditions = {
        rules.BAD_VALUE: F.col("bad") | F.coalesce("numbers.bad", F.lit(False)),
        rules.CLOCK_WRONG: no_clock & F.col("told"),
        rules.NO_TIME: no_clock & ~F.col("told"),
        rules.TOTAL_FROM_TARIFFS: F.coalesce("numbers.summed", F.lit(False)),
        rules.UNNAMED: F.col("own_name").isNull() & F.col("meter_number").isNull(),
    }
    return F.concat_ws(",", *(F.when(conditions[flag], f'"{flag}"') for flag in rules.FLAGS))


def time_text_of(epoch_ms: Column) -> Column:
    moment = F.timestamp_millis(epoch_ms)
    whole = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss'Z'")
    exact = F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    return F.when(epoch_ms % 1000 == 0, whole).otherwise(exact)


def _unless_empty(before: str, content: Column, after: str = "") -> Column:
    return F.when(content == "", "").otherwise(F.concat(F.lit(before), content, F.lit(after)))
