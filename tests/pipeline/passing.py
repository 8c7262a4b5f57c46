"""Builds records of the raw and the side topic as Spark's Kafka source gives them, and reads what comes of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from strom.pipeline.message import KAFKA_SOURCE

RECEIVED_MS = 1_763_240_000_123
TIME_S = 1_763_230_500
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sent:
    """A record of a topic; `headers` beside source and arrival, as doors write them."""

    value: bytes | None = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    key: bytes | None = b"haus-1"
    topic: str = "sma-kafka"
    partition: int = 3
    offset: int = 17
    usual: bool = True

    @property
    def all_headers(self) -> Headers:
        usual = {"strom-source": "mqtt", "strom-received": str(RECEIVED_MS)} if self.usual else {}
        return tuple((usual | self.headers).items())

    def row(self) -> tuple[Any, ...]:
        at = datetime.fromtimestamp(RECEIVED_MS / 1000 + 1, UTC)
        headers = [(name, bytearray(value.encode())) for name, value in self.all_headers]
        value, key = (None if each is None else bytearray(each) for each in (self.value, self.key))
        return (key, value, self.topic, self.partition, self.offset, at, headers)


def message(name: str = "haus-1", wh: float = 1000, **more: Any) -> bytes:
    """What the adapter writes."""
    return json.dumps({"name": name, "1-0:1.8.0": {"value": wh, "time": TIME_S}, **more}).encode()


def records(spark: SparkSession, sent: Sequence[Sent]) -> DataFrame:
    return spark.createDataFrame([each.row() for each in sent], KAFKA_SOURCE)


def headers_of(row: Row) -> list[tuple[str, str]]:
    return [(each.key, bytes(each.value).decode()) for each in row.headers]
