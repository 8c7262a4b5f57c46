"""Raw records to readings in Spark's native columns: the same rules as `devices/adapter_json.py`, built from the same tables.

Nearly every message takes the short way: one `from_json` with a fixed schema. It is right whenever the JSON had no error,
ended with a brace, and the payload holds exactly one closing brace per register that the schema found, plus the outer
one: then nothing unknown and nothing after the object can be in it. All others take the second look. What native columns
cannot read is not looked at: it has no `source` from the first step on, and the reason `ASIDE` in the end.

Each projection copies its row, so there are four and not one for every thought, and each passes on only what is needed.
The last two hold no function over arrays: Spark writes one loop for them, which copies nothing between them.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.obis import FREQUENT_OTHERS, METER_NUMBERS
from strom.pipeline import numbers
from strom.pipeline.judge import (
    any_of,
    identifier,
    is_bad_identifier,
    is_bad_other,
    is_last,
    last_level,
    other_member,
    owner_name,
    with_value,
)
from strom.pipeline.message import CORRUPT, entries, goes_aside, header, members, told_source
from strom.pipeline.reading_json import reading_json
from strom.pipeline.second_look import passed_on, second_look
from strom.streams import topics

ASIDE = "aside"  # in the place of a reason: nothing is wrong with it, the side query reads it
_CARRIED = ("key", "value", "headers", "origin", "published", "received_ms", "source")


def parse(raw: DataFrame) -> DataFrame:
    """Columns of the Kafka source in; out: `reason` (null for a reading, `ASIDE` for the side query), `meter`, `reading` (its JSON), `headers`, `origin`, `received_ms`, and the raw key and value."""
    return raw.transform(_arrived).transform(_taken_apart).transform(_judged).transform(_outcome)


def _arrived(raw: DataFrame) -> DataFrame:
    """Where and when the record came from, and its members."""
    told = header(topics.HEADER_RECEIVED).cast("string").try_cast("bigint")
    earliest, by_kafka = F.lit(values.EARLIEST_SECONDS * 1000), F.unix_millis("timestamp")
    # Of two readings of a meter that are a century apart, each quarter-hour between them would be a row.
    sane = told.between(earliest, F.least(F.lit(values.LATEST_MS), by_kafka + values.CLOCKS_APART_MS))
    place = ("topic", F.col("partition").cast("string"), F.col("offset").cast("string"))
    nothing = F.lit(None)
    return raw.select(
        *_CARRIED[:3],
        F.concat_ws("/", *place).alias("origin"),
        header(topics.HEADER_PUBLISHED).alias("published"),
        F.when(sane, told).otherwise(F.greatest(by_kafka, earliest)).alias("received_ms"),
        F.when(goes_aside(), nothing).otherwise(told_source()).alias("source"),
        header(topics.HEADER_TOPIC).cast("string").alias("mqtt_topic"),
        F.when(goes_aside(), nothing).otherwise(members(_text())).alias("message"),
    )


def _taken_apart(arrived: DataFrame) -> DataFrame:
    """What the registers say, and the second look where needed; of the message only what the reading needs."""
    escaped = F.contains(_text(), F.lit("\\"))
    message = F.col("message").getField
    own = entries(message)
    others = [message(code) for code in FREQUENT_OTHERS]
    found = [*own.values(), *others]
    texts = {register: entry.getField("value") for register, entry in own.items()}
    stands = numbers.as_they_stand(texts)
    may_stand = numbers.may_stand(texts, stands, escaped)
    times = [entry.getField("time") for entry in found]
    earliest, latest = F.least(*times), F.greatest(*times)
    return arrived.select(
        *_CARRIED,
        "mqtt_topic",
        escaped.alias("escaped"),
        message("name").alias("name"),
        F.array(*(texts[register] for register in METER_NUMBERS)).alias("ids"),
        F.array(*(entry.getField("value") for entry in others)).alias("others"),
        F.when(may_stand, stands).alias("stands"),
        F.when(~may_stand, with_value(numbers.listed(texts), numbers.judged)).alias("numbers"),
        _latest(times, earliest, latest).alias("meter_s"),
        ((earliest != 0) | (latest != 0)).alias("told"),
        F.when(F.col("source").isNull(), passed_on(ASIDE))
        .when(~_is_ordinary(message(CORRUPT), found), second_look(_text()))
        .alias("look"),
    )


def _text() -> Column:
    return F.coalesce(F.col("value").cast("string"), F.lit(""))


def _latest(times: list[Column], earliest: Column, latest: Column) -> Column:
    """The latest of these times of the meter, in s, that can be true; nearly always all of them can."""
    most = F.floor(F.col("received_ms") / 1000) + values.AHEAD_SECONDS
    return F.when((earliest >= values.EARLIEST_SECONDS) & (latest <= most), latest).otherwise(
        F.greatest(*(F.when(time.between(values.EARLIEST_SECONDS, most), time) for time in times))
    )


def _is_ordinary(corrupt: Column, entries: list[Column]) -> Column:
    found = reduce(Column.__add__, (entry.isNotNull().cast("int") for entry in entries))
    return F.coalesce(
        corrupt.isNull() & (found > 0) & is_last("}", found + 1, _text()) & F.is_valid_utf8(_text()),
        F.lit(False),
    )


def _judged(apart: DataFrame) -> DataFrame:
    """Meter, time, numbers and what else the reading says, each by its rule."""
    ids = [F.get("ids", F.lit(index)) for index in range(len(METER_NUMBERS))]
    others = [F.get("others", F.lit(index)) for index in range(len(FREQUENT_OTHERS))]
    look, looked = F.col("look").getField, F.col("look").isNotNull()
    return apart.select(
        *_CARRIED,
        "escaped",
        "stands",
        look("reason").alias("look_reason"),
        F.when(looked, look("meter_ms")).otherwise(F.col("meter_s") * 1000).alias("meter_ms"),
        F.coalesce(F.when(looked, look("told")).otherwise(F.col("told")), F.lit(False)).alias("told"),
        "numbers",
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
        *("key", "value", "headers", "origin", "published", "received_ms"),
        meter.alias("meter"),
        reason.alias("reason"),
        F.when(reason.isNull(), reading_json(meter)).alias("reading"),
    )
