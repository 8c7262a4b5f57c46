"""Whatever anybody writes into the topics, the pipeline takes in the good records around it, and goes on."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.arrival_watermark import ArrivalWatermark
from strom.pipeline.job import Pipeline
from strom.pipeline.positions import Queries
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.schema import connect
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.conftest import settings_in
from tests.hostile import hostile, put
from tests.streams.writing import SECONDS
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

FIRST = 1_763_229_600  # 2025-11-15T18:00:00Z, a quarter-hour's border
MINUTES = 31


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with Stack(settings_in(tmp_path_factory.mktemp("foreign") / "home"), ["kafka", "postgres"]) as stack:
        yield stack.settings


def send(settings: Settings, name: str, minutes: range) -> None:
    """A message a minute, each 10 Wh more."""
    producer = open_producer(settings, "strom-test")
    for minute in minutes:
        time = FIRST + minute * 60
        value = {"name": name, "1-0:1.8.0": {"value": 1000 + 10 * minute, "time": time}}
        received = str(time * 1000 + 200).encode()
        headers: list[tuple[str, str | bytes | None]] = [
            ("strom-source", b"mqtt"),
            ("strom-received", received),
        ]
        producer.produce(topics.RAW, json.dumps(value).encode(), name.encode(), headers=headers)
    assert producer.flush(SECONDS) == 0


def rows(settings: Settings, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connect(settings.postgres_url) as connection:
        return connection.execute(query.encode(), values).fetchall()


def profile(settings: Settings, meter: str) -> list[tuple[Any, ...]]:
    query = "SELECT import_wh, quality, samples FROM load_profile WHERE meter = %s ORDER BY start"
    return rows(settings, query, meter)


def test_hostile_records_in_each_topic_stop_nothing_and_are_told(
    settings: Settings, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    whole = [(Decimal("150.000"), "measured", 15)] * 2
    send(settings, "haus-1", range(MINUTES // 2))
    for topic in topics.CONTRACT:
        put(settings, topic.name, hostile(topic.name))
    send(settings, "haus-1", range(MINUTES // 2, MINUTES))
    watermark = ArrivalWatermark(settings)
    watermark.advance(1, Queries(None, None, None))
    assert Pipeline(settings).catch_up(spark)
    assert profile(settings, "haus-1") == whole

    def is_through() -> bool:
        watermark.advance(2, Queries(None, None, None))
        return watermark.readings_ms is not None

    until(is_through, "each raw record, hostile or not, has become something")
    for name in (topics.READINGS, topics.SIDE):
        assert f"records in {name} were not written by normalise and were left out" in caplog.text

    send(settings, "haus-2", range(MINUTES))
    assert Pipeline(settings).catch_up(spark)
    assert profile(settings, "haus-2") == whole
    latest = "SELECT meter, import_wh FROM readings_latest WHERE meter LIKE 'haus-%%' ORDER BY meter"
    assert rows(settings, latest) == [(meter, Decimal("1300.000")) for meter in ("haus-1", "haus-2")]
