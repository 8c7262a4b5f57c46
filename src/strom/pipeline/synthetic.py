"""Records as adapters would send them, made by Spark in bulk: to warm up code, and for benchmarks."""

from math import gcd

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.streams import topics

INTERVAL_S = 5  # between two pushes of a meter
_KILO = 1000
# The registers of a standard push: counters grow, the rest moves about; what it is multiplied with.
_COUNTERS = {"1-0:1.8.0": 4, "1-0:2.8.0": 1, "1-0:3.8.0": 1, "1-0:4.8.0": 2}  # largest step
_WATTS = ("1-0:1.7.0", "1-0:2.7.0", "1-0:3.7.0", "1-0:4.7.0")
_TENTHS = {"1-0:32.7.0": 2300, "1-0:52.7.0": 2295, "1-0:72.7.0": 2305}
_HUNDREDTHS = {"1-0:31.7.0": 112, "1-0:51.7.0": 35, "1-0:71.7.0": 61, "1-0:13.7.0": 95}


def messages(
    spark: SparkSession, count: int, meters: int, start_s: int, *, first: int = 0, active: int | None = None
) -> DataFrame:
    """Records for the raw topic as adapters send them: every meter once, then every meter again five seconds later.

    With `active` only so many of the meters send. Each task has its own share of the meters, so that what a meter sends
    is written in its order.
    """
    sending = active or meters
    tasks = gcd(count, sending, spark.sparkContext.defaultParallelism)
    share = sending // tasks
    task, place = F.floor(F.col("id") / (count // tasks)), F.col("id") % (count // tasks)
    meter, push = task * share + place % share, F.floor(place / share) + first
    seconds = F.lit(start_s) + push * INTERVAL_S
    return spark.range(0, count, 1, tasks).select(
        F.format_string("meter-%06d", meter).cast("binary").alias("key"),
        _payload(F.format_string("meter-%06d", meter), meter, push, seconds).cast("binary").alias("value"),
        F.array(
            _header(topics.HEADER_SOURCE, F.lit("mqtt")),
            _header(topics.HEADER_DIALECT, F.lit("adapter_json")),
            _header(topics.HEADER_RECEIVED, (seconds * _KILO + 300).cast("string")),
            _header(topics.HEADER_TOPIC, F.lit("sma")),
            _header(topics.HEADER_PUBLISHED, (seconds * _KILO + 200).cast("string")),
        ).alias("headers"),
    )


def as_raw(records: DataFrame) -> DataFrame:
    """Records as Kafka's source would give them, each meter in a partition of its own place."""
    return records.select(
        "key",
        "value",
        F.lit(topics.RAW).alias("topic"),
        F.lit(0).alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
        F.current_timestamp().alias("timestamp"),
        "headers",
    )


def as_records(normalised: DataFrame) -> DataFrame:
    """What `normalise` writes, as it would be read again."""
    return normalised.select(
        "value",
        "headers",
        F.lit(0).alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
        F.current_timestamp().alias("timestamp"),
    )


def _payload(name: Column, meter: Column, push: Column, seconds: Column) -> Column:
    def entry(code: str, value: Column) -> Column:
        return F.concat(
            F.lit(f',"{code}":{{"value":'), value.cast("string"), F.lit(',"time":'), seconds, F.lit("}")
        )

    def moved(code: str, most: int) -> Column:
        return F.pmod(F.xxhash64(F.lit(code), meter, push), F.lit(most))

    rows = [
        entry(code, meter * 1_000 + push * step + moved(code, step + 1)) for code, step in _COUNTERS.items()
    ]
    rows += [entry(code, moved(code, 6_000)) for code in _WATTS]
    rows += [
        entry(code, ((moved(code, 80) + middle) / 10).cast("decimal(5,1)"))
        for code, middle in _TENTHS.items()
    ]
    rows += [
        entry(code, ((moved(code, 50) + middle) / 100).cast("decimal(5,2)"))
        for code, middle in _HUNDREDTHS.items()
    ]
    number = F.format_string("1KFM02%08d", meter)
    return F.concat(
        F.lit('{"api_version":"v1","name":"'),
        name,
        F.lit('","sma_time":'),
        (push * INTERVAL_S).cast("string"),
        F.lit(".5"),
        *rows,
        F.lit(',"0-0:96.1.0":{"value":"'),
        number,
        F.lit('"},"0-0:42.0.0":{"value":"KFM12002'),
        number,
        F.lit('"}}'),
    )


def _header(key: str, value: Column) -> Column:
    return F.struct(F.lit(key).alias("key"), value.cast("binary").alias("value"))
