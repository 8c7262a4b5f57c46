"""What somebody else writes into `readings` must not reach the tables."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.cells import FIELDS
from strom.pipeline.message import KAFKA_SOURCE
from strom.pipeline.readings import not_readings, typed_readings
from strom.streams import topics
from tests.hostile import VALUES, hostile

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


def _compact(reading: dict[str, Any]) -> bytes:
    """As `normalise` writes it."""
    return json.dumps(reading, separators=(",", ":")).encode()


def survivors(spark: SparkSession, value: bytes | None, headers: Headers | None) -> list[str]:
    return [row.meter for row in typed_readings(records(spark, value, headers)).collect()]


def test_what_normalise_wrote_is_taken(spark: SparkSession) -> None:
    assert survivors(spark, json.dumps(GOOD).encode(), ORIGIN) == ["m"]
    assert not_readings(records(spark, json.dumps(GOOD).encode(), ORIGIN)).collect() == []


def test_a_stage_that_needs_less_of_a_reading_gets_less(spark: SparkSession) -> None:
    value = _compact(GOOD | {"other": {"0-0:1.0.0": 1}, "current_l1_a": 2})
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


def test_of_hostile_records_only_what_every_stage_can_take_is_a_reading(spark: SparkSession) -> None:
    sent = hostile(topics.READINGS)
    at = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
    rows = [
        (
            None,
            None if each.value is None else bytearray(each.value),
            *(topics.READINGS, 0, offset, at),
            [(name, None if value is None else bytearray(value)) for name, value in each.headers],
        )
        for offset, each in enumerate(sent)
    ]
    frame = spark.createDataFrame(rows, KAFKA_SOURCE)
    taken = {sent[row.offset].name for row in typed_readings(frame).collect()}
    assert len(taken) + not_readings(frame).count() == len(sent)
    assert {name for name in taken if name.startswith(("at ", "received ", "origin ", "twice"))} == set()
    assert {name for name in taken if name.startswith("other ")} == {"other is null", "other is object"}
    # Of a number that is none, the rest of the reading stands; a list that is none ends the parsing of its record.
    assert {f"import_wh is {value}" for value in ("text", "NaN", "1e999", "zero", "negative")} <= taken
    assert taken.isdisjoint(f"import_wh is {value}" for value in ("huge exponent", "tiny exponent"))
    refused = ("null", "empty", "NUL", "long", "brackets")
    assert taken.isdisjoint(f"meter is {value}" for value in refused)
    for field in ("source", "clock", "meter_number"):
        assert taken.isdisjoint(f"{field} is {value}" for value in ("NUL", "long"))
        assert f"{field} is text" in taken
    assert taken.isdisjoint(("flags is NUL in a list", *VALUES))


def test_an_exponent_in_a_name_is_no_number(spark: SparkSession) -> None:
    value = json.dumps(GOOD | {"meter": 'shelly-3ce90e12345:1e99999999 "1e99999999'}).encode()
    assert survivors(spark, value, ORIGIN) == ['shelly-3ce90e12345:1e99999999 "1e99999999']
    assert survivors(spark, value.replace(b"5.25", b"5e99999"), ORIGIN) == []
