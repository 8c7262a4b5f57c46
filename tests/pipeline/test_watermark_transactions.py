"""A marker that ends a transaction is no record: nothing becomes of it, and nobody waits for that."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.arrival_watermark import ArrivalWatermark
from strom.pipeline.positions import Queries
from strom.pipeline.queries import source
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.pipeline.watermarks import NOTHING_RUNS, put, put_in_transaction, reaches, take_in
from tests.waiting import until

pytestmark = pytest.mark.stack


@pytest.fixture
def settings(own_settings: Settings) -> Iterator[Settings]:
    with Stack(own_settings, ["kafka", "postgres"]) as stack:
        yield stack.settings


def test_behind_a_committed_transaction_the_last_record_is_the_end(settings: Settings) -> None:
    put_in_transaction(settings, topics.RAW, 0, "", "")
    watermark = ArrivalWatermark(settings)
    take_in(settings, 0, 0)
    for _ in range(5):
        watermark.advance(1, NOTHING_RUNS)
    assert watermark.readings_ms is None  # the second record has not become anything yet
    take_in(settings, 0, 1)
    until(lambda: reaches(watermark, 2), "the transaction is through")


def test_what_was_aborted_was_never_sent(settings: Settings) -> None:
    put_in_transaction(settings, topics.RAW, 0, "", "", commit=False)
    put(settings, topics.RAW, 1, "")
    put_in_transaction(settings, topics.RAW, 1, "", commit=False)
    watermark = ArrivalWatermark(settings)
    for _ in range(5):
        watermark.advance(1, NOTHING_RUNS)
    assert watermark.readings_ms is None
    take_in(settings, 1, 0)
    until(lambda: reaches(watermark, 2), "the one record is through")


def test_while_a_transaction_is_open_what_comes_behind_it_is_not_through(settings: Settings) -> None:
    """Nobody can read it yet, and it has arrived."""
    producer = open_producer(settings, "strom-test", **{"transactional.id": "strom-test"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topics.RAW, b"x", partition=0)
    assert producer.flush(60) == 0
    put(settings, topics.RAW, 0, "")
    watermark = ArrivalWatermark(settings)
    for _ in range(5):
        watermark.advance(1, NOTHING_RUNS)
    assert watermark.readings_ms is None
    producer.abort_transaction(60)
    for _ in range(5):
        watermark.advance(2, NOTHING_RUNS)
    assert watermark.readings_ms is None
    take_in(settings, 0, 2)
    until(lambda: reaches(watermark, 3), "what came behind it is through")


def test_markers_in_the_side_topic_and_in_readings_hold_nobody_up(
    settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    for topic in (topics.SIDE, topics.READINGS):
        put_in_transaction(settings, topic, 0, "somewhere/0/0")
        put_in_transaction(settings, topic, 1, "somewhere/0/0", commit=False)
    side, store = (
        source(spark, settings, topic)
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / topic))
        .start()
        for topic in (topics.SIDE, topics.READINGS)
    )
    try:
        watermark, queries = ArrivalWatermark(settings), Queries(None, side, store)
        until(lambda: reaches(watermark, 1, queries), "the ends behind the markers are reached")
    finally:
        side.stop()
        store.stop()
