"""What native columns cannot read is passed on as it came, and not looked at; everything else is read as before."""

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from strom.devices.registry import DIALECTS, Dialect
from strom.domain.reading import Rejected
from strom.pipeline.normalise import normalise
from strom.streams import topics
from tests.pipeline.passing import RECEIVED_MS, Sent, headers_of, message, records

PART = "0123456789abcdef/0/3/0123456789abcdef"
ORIGIN = ("strom-origin", "sma-kafka/3/17")


def refuse(payload: bytes, **_: Any) -> dict[str, Any]:
    raise Rejected("not-json")


@pytest.fixture(autouse=True)
def other_dialects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that native columns cannot read, whatever dialects there are."""
    for name in ("knocking", "smoke"):
        monkeypatch.setitem(DIALECTS, name, Dialect(name, refuse, ""))


def outcome(spark: SparkSession, sent: Sent, side_partitions: int | None = None) -> Row:
    (row,) = normalise(records(spark, [sent]), side_partitions).collect()
    return row


@pytest.mark.parametrize(
    "headers",
    [
        {"strom-part": PART},
        {"strom-part": "none of a part"},
        {"strom-part": PART, "strom-dialect": "adapter_json"},
        {"strom-dialect": "knocking"},
        {"strom-dialect": "smoke", "strom-topic": "sma/keller"},
    ],
)
@pytest.mark.parametrize("value", [message(), b"", None, b"\xff\x00", b"[" * 1000])
def test_parts_and_dialects_go_to_the_side_as_they_came(
    spark: SparkSession, headers: dict[str, str], value: bytes | None
) -> None:
    sent = Sent(value, headers)
    row = outcome(spark, sent)
    assert (row.topic, row.partition) == (topics.SIDE, 3)
    assert (bytes(row.key), row.value and bytes(row.value)) == (b"haus-1", value)
    assert headers_of(row) == [*sent.all_headers, ORIGIN]


def test_without_a_key_and_headers_of_a_door_the_arrival_is_told_to_the_side(spark: SparkSession) -> None:
    row = outcome(spark, Sent(message(), {"strom-part": PART}, key=None, usual=False))
    assert row.key is None
    assert headers_of(row) == [("strom-part", PART), ("strom-received", str(RECEIVED_MS + 1000)), ORIGIN]


def test_an_arrival_that_cannot_be_true_is_told_anew(spark: SparkSession) -> None:
    row = outcome(spark, Sent(message(), {"strom-part": PART, "strom-received": "5"}))
    assert headers_of(row)[-2:] == [("strom-received", str(RECEIVED_MS + 1000)), ORIGIN]


def test_fewer_partitions_on_the_side_keep_the_records_of_one_raw_partition_together(
    spark: SparkSession,
) -> None:
    raw = [Sent(headers={"strom-part": PART}, partition=number) for number in range(5)]
    rows = normalise(records(spark, raw), 2).collect()
    assert [row.partition for row in rows] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("dialect", [None, "adapter_json", "nobody-knows", "", "KNOCKING"])
def test_what_is_native_or_unknown_is_read_as_before(spark: SparkSession, dialect: str | None) -> None:
    headers = {} if dialect is None else {"strom-dialect": dialect}
    row = outcome(spark, Sent(message(wh=7), headers))
    assert (row.topic, bytes(row.key), row.partition) == (topics.READINGS, b"haus-1", None)
    assert b'"import_wh":7' in bytes(row.value)
    assert headers_of(row) == [ORIGIN]


@pytest.mark.parametrize("value", [b"", b" ", None, b"hello"])
def test_what_is_no_message_goes_to_the_dead_letter_and_not_aside(
    spark: SparkSession, value: bytes | None
) -> None:
    sent = Sent(value, {"strom-dialect": "nobody-knows"})
    row = outcome(spark, sent)
    assert (row.topic, row.partition) == (topics.DEAD_LETTER, None)
    found = headers_of(row)
    assert found[: len(sent.all_headers)] == list(sent.all_headers)
    assert found[-3] == ("strom-reason", "not-json")
    assert found[-1] == ORIGIN
