"""What somebody else writes into `readings` must not reach the tables."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.cells import FIELDS
from strom.pipeline.message import KAFKA_SOURCE
from strom.pipeline.readings import not_readings, typed_readings

GOOD = {
    "v": 1,
    "meter": "m",
    "at": "2026-01-01T00:00:00Z",
    "received": "2026-01-01T00:00:01Z",
    "import_wh": 5.25,
}
ORIGIN = [("strom-origin", bytearray(b"sma-kafka/0/7"))]
Headers = list[tuple[str, bytearray]]


def records(spark: SparkSession, value: bytes | None, headers: Headers | None) -> DataFrame:
    record = (None, value and bytearray(value), "readings", 0, 3, datetime(2026, 1, 1, tzinfo=UTC), headers)
    return spark.createDataFrame([record], KAFKA_SOURCE)


def survivors(spark: SparkSession, value: bytes | None, headers: Headers | None) -> list[str]:
    return [row.meter for row in typed_readings(records(spark, value, headers)).collect()]


def test_what_normalise_wrote_is_taken(spark: SparkSession) -> None:
    assert survivors(spark, json.dumps(GOOD).encode(), ORIGIN) == ["m"]
    assert not_readings(records(spark, json.dumps(GOOD).encode(), ORIGIN)).collect() == []


def test_a_stage_that_needs_less_of_a_reading_gets_less(spark: SparkSession) -> None:
    value = json.dumps(GOOD | {"other": {"0-0:1.0.0": 1}, "current_l1_a": 2}).encode()
    (row,) = typed_readings(records(spark, value, ORIGIN), FIELDS).collect()
    assert (row.meter, row.import_wh, row.origin) == ("m", Decimal("5.250"), "sma-kafka/0/7")
    assert not {"other", "current_l1_a"} & set(row.asDict())


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (json.dumps(GOOD).encode(), None),
        (json.dumps(GOOD).encode(), []),
        (json.dumps(GOOD).encode(), [("strom-origin", bytearray(b"elsewhere"))]),
        *(
            (json.dumps(GOOD).encode(), [("strom-origin", bytearray(origin))])
            for origin in (
                b"",
                b"a/b/c",
                b"a/1",
                b"a/1/",
                b"a//1",
                b"a/-1/2",
                b"a/1/-2",
                b"a/1/9223372036854775808",
            )
        ),
        (json.dumps({**GOOD, "at": "yesterday"}).encode(), ORIGIN),
        (json.dumps({"v": 1}).encode(), ORIGIN),
        (b"\xff not JSON", ORIGIN),
        (b"", ORIGIN),
        (None, ORIGIN),
    ],
)
def test_what_somebody_else_wrote_is_left_out_and_can_be_found(
    spark: SparkSession, value: bytes, headers: Headers
) -> None:
    assert survivors(spark, value, headers) == []
    assert [tuple(row) for row in not_readings(records(spark, value, headers)).collect()] == [(0, 3)]
