"""Spark's native columns and plain Python must make the same of every payload: the samples, hostile ones, random ones."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from strom.devices.adapter_json import decode
from strom.domain.obis import SPELLINGS
from strom.domain.reading import Rejected
from strom.pipeline.message import KAFKA_SOURCE
from strom.pipeline.parse import parse

PAYLOADS = Path(__file__).parent.parent / "payloads"
RECEIVED_MS = 1_763_240_000_123
Raw = tuple[bytes, str | None]  # payload and MQTT topic


def by_python(raw: Raw) -> dict[str, Any]:
    try:
        return decode(raw[0], received_ms=RECEIVED_MS, topic=raw[1])
    except Rejected as rejected:
        return {"reason": rejected.reason}


def by_spark(spark: SparkSession, raws: Sequence[Raw]) -> list[dict[str, Any]]:
    arrived = datetime.fromtimestamp(RECEIVED_MS / 1000, UTC)
    rows = [
        (None, bytearray(payload), "sma-kafka", 0, offset, arrived, headers(topic))
        for offset, (payload, topic) in enumerate(raws)
    ]
    parsed = parse(spark.createDataFrame(rows, KAFKA_SOURCE)).collect()
    return [{"reason": row.reason} if row.reason else json.loads(row.reading) for row in parsed]


def headers(topic: str | None) -> list[tuple[str, bytearray]]:
    told = {"strom-source": "mqtt", "strom-received": str(RECEIVED_MS)} | (
        {"strom-topic": topic} if topic else {}
    )
    return [(key, bytearray(value.encode())) for key, value in told.items()]


def assert_parity(spark: SparkSession, raws: Sequence[Raw]) -> None:
    for raw, found in zip(raws, by_spark(spark, raws), strict=True):
        assert found == by_python(raw), raw


numbers = (
    st.integers(-10, 10**16)
    | st.decimals(-1000, 10**9, places=4).map(float)
    | st.sampled_from(
        [4294967295, 4294967.295, 1e400, -0.0, 1e15, 999999999999999.9, 10**30, 0.0005, 1.5e-7, 1e20]
    )
)
numeric_texts = numbers.map(str) | st.sampled_from(
    [
        " 5 ",
        "+5",
        ".5",
        "5.",
        "1E-5",
        "0x1F",
        "1_0",
        "5d",
        "٣",
        "--1",
        "1,5",
        "\t5\n",
        "5 5",
        "00012.50",
        "1e400",
        "NaN",
    ]
)
ids = st.sampled_from(
    [
        "AT-4711",
        "a\x00b",
        "1KFM02",
        "4711",
        "4711.5",
        "2025-11-15 19:15:00",
        "12:30",
        "",
        " ",
        "ä",
        "x" * 80,
        "0" * 20,
    ]
)
scalars = st.one_of(numbers, numeric_texts, ids, st.none(), st.booleans(), st.text(max_size=8))
structures = st.sampled_from(
    [{}, [], {"b": 1}, [1, 2], {"value": 1}, '{"value": 1, "time": 5}', "[1]", '"q"']
)
times = st.one_of(
    st.sampled_from([1763230500, 1763230500.25, "1763230500", 0, "0", 1104625548, 1763240300, 1763240301]),
    scalars,
)
entries = st.fixed_dictionaries(
    {}, optional={"value": scalars | structures, "time": times | structures, "unit": scalars}
)
codes = st.sampled_from(sorted(SPELLINGS)) | st.sampled_from(
    ["1-0:99.99.9", "9-9:1.2.3", "firmware", "1-0:1.8", "F.F.1", "", "1.8.0 "]
)
members = st.dictionaries(codes, entries | scalars | structures, max_size=6)
names = (
    st.sampled_from(["haus-21", "", "  ", " n ", "12.5", "ä\u2028\U0001f50c", "x" * 201, "{a}", "\ud800"])
    | scalars
    | structures
)
messages = st.builds(lambda name, rest: {"name": name, **rest}, names, members) | members
texts = messages.map(
    lambda message: json.dumps(message, allow_nan=False) if _finite(message) else json.dumps(message)
)


def _finite(message: dict[str, Any]) -> bool:
    try:
        json.dumps(message, allow_nan=False)
    except ValueError:
        return False
    return True


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A message as bytes, now and then cut, spliced, repeated or followed by something."""
    payload = draw(texts).replace("Infinity", "1e400").encode()
    end = draw(
        st.sampled_from(
            [b"", b"", b"", b" ", b"\n", b"}", b"]", b" x", b"{}", b",{}", b'],"x":[1', b',"x":1', b"\x00"]
        )
    )
    cut = draw(st.integers(0, len(payload)))
    middle = draw(
        st.sampled_from([b"", b"", b"", b"\xff", b"\\", b'"', b"{", b"}", b",", b" ", b"0", b"\x01"])
    )
    return payload[:cut] + middle + payload[cut:] + end


payloads = (
    damaged()
    | st.binary(max_size=40)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace"))
)
topics = st.sampled_from([None, "sma/" + "x" * 201, "sma", "sma/keller", "sma/", "/"])


def test_samples_come_out_alike(spark: SparkSession) -> None:
    found = (
        path for path in PAYLOADS.rglob("*") if path.is_file()
    )  # other dialects' too: none of them is an adapter's
    files = sorted(path for path in found if path.name not in ("README.md", "expected.json"))
    assert len(files) >= 14
    assert_parity(spark, [(path.read_bytes(), topic) for path in files for topic in ("sma", None)])


def test_hostile_payloads_come_out_alike(spark: SparkSession) -> None:
    good = b'{"name":"m","1-0:1.8.0":{"value":1,"time":1763230500}}'
    assert_parity(
        spark,
        [
            (payload, "sma")
            for payload in (
                b"",
                b"[" * 100_000,
                b'{"a":' * 5000 + b"1" + b"}" * 5000,
                good[:-1] + b',"filler":"' + b"x" * 1_000_000 + b'"}',
                good[:-1] + b',"filler":"' + b"}" * 1_000_000 + b'"}',
                b"\x00" * 1_000_000,
                good + good,
                good + b',"',
                b'{"name":"a","name":"b","1-0:1.8.0":{"value":1},"1-0:1.8.0":{"value":2,"value":3}}',
                b'{"name":"m","1-0:1.8.0":null}',
                b'{"name":"m","1-0:1.8.0":{"value":1},"9-9:1.2.3":"{\\"value\\":1}"}',
                b'{"name":"m","1-0:1.8.0":{"value":1},"1.8.0":{"value":2}}',
                b'{"name":"m","\\u0031-0:1.8.0":{"value":"\\u0037"}}',
                b'{"' + b"k" * 50_001 + b'":1,"name":"m","1-0:1.8.0":{"value":1}}',
                b'{"n":' + b"1" * 1001 + b',"name":"m","1-0:1.8.0":{"value":1}}',
                b'{"name":"m","1-0:1.8.0":{"value":1},"1.0:81.7.51":{"value":1e400,"time":"4711"}}',
                b'{"name":"m","1-0:1.8.0":{"value":1},"1.0:81.7.51":{"value":"-Infinity"},"1-0:15.8.0":{"value":-1e400}}',
                '{"name":"m\ufeff","1-0:1.8.0":{"value":1}}'.encode("utf-16"),
            )
        ],
    )


# No shrinking: the assertion names the one payload that differs, and every try costs a Spark job.
@settings(
    max_examples=settings().max_examples // 16,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.tuples(payloads, topics), min_size=200, max_size=400))
def test_random_payloads_come_out_alike(spark: SparkSession, raws: list[Raw]) -> None:
    assert_parity(spark, raws)
