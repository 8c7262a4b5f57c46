"""Records of the side topic as frames: whole messages, which Python decodes on the executors, and where parts of large ones stand.

No source and no sink; the parts are put together by `side_job.py`.
"""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.devices.registry import DIALECTS, Dialect
from strom.pipeline.decoding import decoded, decoders_of
from strom.pipeline.message import header, told_source
from strom.pipeline.normalise import and_headers, reading_headers, refusal
from strom.pipeline.readings import parts_of_origin, plausible_arrival
from strom.pipeline.shipped import Shipped
from strom.streams import topics

_DECODED = "struct<reason:string,detail:string,meter:string,reading:binary>"
_IS_OURS = f"(raw_offset IS NOT NULL AND raw_topic = '{topics.RAW}' AND is_plausible)"


def whole_messages(records: DataFrame, dialects: Mapping[str, Dialect] = DIALECTS) -> DataFrame:
    """Columns of the Kafka source in, columns of the Kafka sink out: what is no part, as readings and dead letters.

    The order of the records stays: those of one raw partition must reach `readings` in it.
    """
    decode = F.udf(Shipped(partial(decoded, decoders_of(dialects))), _DECODED, useArrow=False)
    found = (
        _placed(records)
        .where(f"{_IS_OURS} AND part IS NULL")
        .select(
            *("key", "value", "headers", "received_ms"),
            F.concat_ws("/", F.lit(topics.WAY_SIDE), "raw_partition", "raw_offset").alias("origin"),
            header(topics.HEADER_PUBLISHED).alias("published"),
            header(topics.HEADER_DIALECT).cast("string").alias("dialect"),
            told_source().alias("source"),
            header(topics.HEADER_TOPIC).cast("string").alias("mqtt_topic"),
        )
        .withColumn("found", decode("value", "dialect", "received_ms", "source", "mqtt_topic"))
        .withColumn("reason", F.col("found.reason"))
    )
    is_reading = F.col("reason").isNull()
    return found.select(
        F.when(is_reading, topics.READINGS).otherwise(topics.DEAD_LETTER).alias("topic"),
        F.when(is_reading, F.col("found.meter").cast("binary")).otherwise(F.col("key")).alias("key"),
        F.when(is_reading, F.col("found.reading")).otherwise(F.col("value")).alias("value"),
        F.when(is_reading, reading_headers())
        .otherwise(and_headers(*refusal(F.col("found.detail"))))
        .alias("headers"),
    )


def looked_through(records: DataFrame) -> DataFrame:
    """One row: how many are `whole`, the `parts` in the fields of `parts.Seen`, and the places that are `foreign`: not written by `normalise`."""
    part = F.struct(
        *("partition", "offset", "raw_partition", "raw_offset", "received_ms"),
        F.unix_millis("timestamp").alias("at_ms"),
        "part",
        F.xxhash64("key").alias("key"),
        F.xxhash64("value").alias("bytes"),
        F.coalesce(F.length("value"), F.lit(0)).alias("size"),
        header(topics.HEADER_REDRIVEN).isNotNull().alias("redriven"),
    )
    return (
        _placed(records)
        .select(
            F.expr(f"{_IS_OURS} AND part IS NULL").alias("is_whole"),
            F.when(F.expr(f"{_IS_OURS} AND part IS NOT NULL"), part).alias("part"),
            F.when(F.expr(f"NOT {_IS_OURS}"), F.struct("partition", "offset")).alias("place"),
        )
        .agg(
            F.count_if("is_whole").alias("whole"),
            F.collect_list("part").alias("parts"),
            F.collect_list("place").alias("foreign"),
        )
    )


def _placed(records: DataFrame) -> DataFrame:
    """With the place of the raw record, when it arrived, and of which message it says that it is a part."""
    return records.withColumns(
        {
            "origin": header(topics.HEADER_ORIGIN).cast("string"),
            "received_ms": header(topics.HEADER_RECEIVED).cast("string").try_cast("bigint"),
            "part": header(topics.HEADER_PART).cast("string"),
        }
    ).withColumns(
        parts_of_origin()
        | {"is_plausible": F.coalesce(plausible_arrival(F.col("received_ms")), F.lit(False))}
    )
