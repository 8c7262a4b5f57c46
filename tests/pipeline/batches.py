"""Builds micro-batches as the job reads them from `readings`, and fetches what comes of them."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession

from strom.domain.reading import CLOCK_WRONG, NUMBER_FIELDS, plain_number, time_text
from strom.pipeline.readings import parts_of_origin
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = 1_767_225_600_000  # 2026-01-01T00:00Z
SCHEMA = ", ".join(
    (
        "meter string, at timestamp, received timestamp, source string, clock string",
        *(f"{name} decimal(18,3)" for name in NUMBER_FIELDS),
        "meter_number string, other string, flags array<string>, value string, origin string, published bigint",
        "partition int, offset bigint, timestamp timestamp",
    )
)


@dataclass(frozen=True)
class Sent:
    """A reading with its place in the raw topic; `numbers` in Wh, W and V."""

    meter: str
    at: int
    numbers: dict[str, float] = field(default_factory=dict)
    received: int = 0
    offset: int = 0
    partition: int = 0
    topic: str = "sma-kafka"
    meter_number: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def reading(meter: str = "m1", at: int = START, **numbers: float) -> Sent:
    return Sent(meter, at, numbers, received=at + 200)


def numbered(readings: Sequence[Sent], first: int = 0) -> list[Sent]:
    """The readings in the order in which the raw topic holds them."""
    return [replace(each, offset=offset) for offset, each in enumerate(readings, first)]


def batch(spark: SparkSession, readings: Sequence[Sent]) -> DataFrame:
    return frame_of(spark, [_row(offset, each) for offset, each in enumerate(readings)])


def frame_of(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Rows of the schema as the job gets them."""
    return spark.createDataFrame(rows, SCHEMA).withColumns(parts_of_origin())


def take(job: StoreJob, readings: DataFrame, number: int) -> None:
    """A micro-batch, and all that is made of it: what would wait for its time does not wait."""
    job.process(readings, number)
    job.settle()


def by_meter(readings: Sequence[Sent]) -> dict[str, list[Sent]]:
    found: dict[str, list[Sent]] = {}
    for each in readings:
        found.setdefault(each.meter, []).append(each)
    return found


def cut(readings: Sequence[Sent], sizes: Iterator[int]) -> list[list[Sent]]:
    rest = iter(readings)
    return [part for size in sizes if (part := list(itertools.islice(rest, size)))]


def _row(offset: int, sent: Sent) -> tuple[Any, ...]:
    numbers = {name: Decimal(str(value)) for name, value in sent.numbers.items()}
    value = {"v": 1, "meter": sent.meter, "at": time_text(sent.at), "received": time_text(sent.received)}
    shown = value | {name: plain_number(number) for name, number in numbers.items()}
    return (
        sent.meter, moment(sent.at), moment(sent.received), "mqtt",
        "received" if CLOCK_WRONG in sent.flags else "meter",
        *(numbers.get(name) for name in NUMBER_FIELDS),
        sent.meter_number, None, list(sent.flags), json.dumps(shown), sent.origin, sent.received, 0, offset, moment(sent.received),
    )  # fmt: skip


def fetch(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(settings.postgres_url, options="-c timezone=UTC") as connection:
        return connection.execute(query.encode()).fetchall()


def moment(epoch_ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=epoch_ms)
