"""Records of the side topic, decoded by Python on the executors: the same readings, headers and dead letters as `normalise` makes."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from strom.devices.adapter_json import decode
from strom.devices.registry import Dialect, dialects_of
from strom.domain.reading import DETAILS, Rejected, time_text
from strom.pipeline.normalise import normalise
from strom.pipeline.side import looked_through, whole_messages
from strom.settings import Settings
from strom.streams import topics
from tests.devices.samples import OTHERS, samples
from tests.pipeline.passing import RECEIVED_MS, Sent, headers_of, message, records

PAYLOADS = Path(__file__).parent.parent / "payloads"


def dialects() -> dict[str, Dialect]:
    """One that counts knocks, and the adapter's; made here, so that the executors get it and not its name."""

    def knocks(
        payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
    ) -> dict[str, Any]:
        if payload == b"silence":
            raise Rejected("no-known-register")
        if payload == b"fault":
            raise KeyError("knock")
        at = time_text(received_ms)
        return {
            "v": 1,
            "meter": f"{topic}-ä",
            "at": at,
            "received": at,
            "source": source,
            "import_wh": len(payload),
        }

    return {"knocking": Dialect("knocking", knocks, ""), "adapter_json": Dialect("adapter_json", decode, "")}


def aside(value: bytes | None, offset: int = 17, **headers: str) -> Sent:
    """As `normalise` passes it on."""
    told = {"strom-dialect": "knocking", "strom-topic": "sma/keller", "strom-origin": f"sma-kafka/3/{offset}"}
    return Sent(
        value, told | {name.replace("_", "-"): text for name, text in headers.items()}, topic=topics.SIDE
    )


def outcomes(spark: SparkSession, *sent: Sent) -> list[Row]:
    return whole_messages(records(spark, sent), dialects()).collect()


def test_a_reading_tells_where_its_raw_record_stands_and_which_way_it_came(spark: SparkSession) -> None:
    (row,) = outcomes(spark, aside(b"knock", strom_published="5"))
    assert (row.topic, bytes(row.key).decode()) == (topics.READINGS, "sma/keller-ä")
    assert json.loads(bytes(row.value)) == {
        "v": 1,
        "meter": "sma/keller-ä",
        "at": time_text(RECEIVED_MS),
        "received": time_text(RECEIVED_MS),
        "source": "mqtt",
        "import_wh": 5,
    }
    assert headers_of(row) == [("strom-origin", "sma-kafka:side/3/17"), ("strom-published", "5")]


def test_a_door_that_is_none_of_ours_is_not_named(spark: SparkSession) -> None:
    (row,) = outcomes(spark, aside(b"knock", strom_source="<script>"))
    assert json.loads(bytes(row.value))["source"] == "kafka"


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (b"silence", DETAILS["no-known-register"]),
        (b"fault", "the decoder of knocking failed (KeyError: 'knock'); tell its makers"),
    ],
)
def test_what_cannot_be_read_goes_to_the_dead_letter_as_it_came(
    spark: SparkSession, value: bytes, detail: str
) -> None:
    sent = aside(value)
    (row,) = outcomes(spark, sent)
    assert (row.topic, bytes(row.key), bytes(row.value)) == (topics.DEAD_LETTER, b"haus-1", value)
    assert headers_of(row) == [
        *sent.all_headers,
        ("strom-reason", "no-known-register"),
        ("strom-detail", detail),
    ]


def test_records_stay_in_their_order(spark: SparkSession) -> None:
    sent = [aside(b"silence" if offset % 7 == 0 else b"x" * offset, offset) for offset in range(300)]
    rows = whole_messages(records(spark, sent).coalesce(1), dialects()).collect()
    places = [dict(headers_of(row))["strom-origin"].rsplit("/")[-1] for row in rows]
    assert places == [str(offset) for offset in range(300)]


def test_the_adapters_own_messages_come_out_as_native_columns_make_them(spark: SparkSession) -> None:
    files = sorted(path for path in PAYLOADS.iterdir() if path.suffix in (".json", ".txt"))
    payloads = [path.read_bytes() for path in files if path.name != "expected.json"]
    assert len(payloads) >= 14
    sent = [aside(payload, strom_dialect="adapter_json") for payload in payloads]
    native = [Sent(payload, {"strom-topic": "sma/keller"}) for payload in payloads]
    for side, own in zip(outcomes(spark, *sent), normalise(records(spark, native)).collect(), strict=True):
        assert (side.topic, side.key) == (own.topic, own.key)
        if own.topic == topics.READINGS:
            assert json.loads(bytes(side.value)) == json.loads(bytes(own.value))
        else:
            reasons = [dict(headers_of(row))["strom-reason"] for row in (side, own)]
            assert reasons[0] == reasons[1]


def test_every_sample_of_every_dialect_comes_out_as_it_must(spark: SparkSession) -> None:
    found = [sample for sample in samples() if sample.dialect in OTHERS]
    sent = [
        aside(
            sample.payload,
            strom_dialect=sample.dialect,
            strom_topic=sample.topic,
            strom_received=str(sample.received_ms),
        )
        for sample in found
    ]
    rows = whole_messages(records(spark, sent), dialects_of(Settings())).collect()
    for sample, row in zip(found, rows, strict=True):
        if row.topic == topics.READINGS:
            assert json.loads(bytes(row.value)) == sample.expected, sample
        else:
            assert {"reason": dict(headers_of(row))["strom-reason"]} == sample.expected, sample


def test_parts_are_told_by_their_place_and_not_decoded(spark: SparkSession) -> None:
    part = aside(b"half a message", strom_part="aaaaaaaa/0/2/0123456789abcdef")
    assert outcomes(spark, part) == []
    (found,) = looked_through(records(spark, [part, aside(b"knock")])).collect()
    assert (found.whole, found.foreign) == (1, [])
    (row,) = found.parts
    assert (row.partition, row.offset, row.raw_partition, row.raw_offset) == (3, 17, 3, 17)
    assert (row.received_ms, row.at_ms) == (RECEIVED_MS, RECEIVED_MS + 1000)
    assert (row.part, row["size"], row.redriven) == ("aaaaaaaa/0/2/0123456789abcdef", 14, False)


@pytest.mark.parametrize(
    "sent",
    [
        Sent(message(), topic=topics.SIDE),
        Sent(message(), {"strom-origin": "elsewhere/3/17"}, topic=topics.SIDE),
        Sent(message(), {"strom-origin": "sma-kafka/3"}, topic=topics.SIDE),
        Sent(message(), {"strom-origin": "sma-kafka/3/17"}, topic=topics.SIDE, usual=False),
    ],
)
def test_what_somebody_else_wrote_there_is_left_out_and_told(spark: SparkSession, sent: Sent) -> None:
    assert outcomes(spark, sent) == []
    (found,) = looked_through(records(spark, [sent])).collect()
    assert (found.whole, found.parts, [tuple(row) for row in found.foreign]) == (0, [], [(3, 17)])
