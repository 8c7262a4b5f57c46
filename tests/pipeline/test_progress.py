"""A backlog is done when every raw record that was waiting is in the tables or in the dead letter."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.pipeline.progress import Backlog, CaughtUp
from strom.pipeline.queries import source
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.mark_tables import Mark, save_marks
from strom.store.writes import Writer
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.waiting import until

pytestmark = pytest.mark.stack


@pytest.fixture
def servers(own_settings: Settings) -> Iterator[Stack]:
    """Servers of its own: in the shared topics others' records wait for ever."""
    with Stack(own_settings, ["kafka", "postgres"]) as stack:
        yield stack


@pytest.fixture
def settings(servers: Stack) -> Settings:
    return servers.settings


def put(settings: Settings, topic: str, partition: int, *origins: str) -> None:
    producer = open_producer(settings, "strom-test")
    for origin in origins:
        producer.produce(topic, b"x", partition=partition, headers=[(topics.HEADER_ORIGIN, origin)])
    assert producer.flush(60) == 0


def take_in(settings: Settings, partition: int, offset: int) -> None:
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        save_marks(work, "test", [Mark(topics.RAW, partition, 0, offset, 1)])


def test_a_backlog_is_done_when_each_record_has_an_outcome(settings: Settings) -> None:
    put(settings, topics.RAW, 0, "", "", "")
    put(settings, topics.RAW, 2, "", "")
    backlog = Backlog(settings)
    assert not backlog.is_done()
    take_in(settings, 0, 2)
    put(settings, topics.DEAD_LETTER, 1, "sma-kafka/2/0", "somewhere/2/9", "no origin")
    assert not backlog.is_done()
    put(settings, topics.DEAD_LETTER, 3, "sma-kafka/2/1")
    until(backlog.is_done, "the last dead letter is seen")
    put(settings, topics.RAW, 1, "")
    assert backlog.is_done()  # what comes later is no backlog

    # The next start finds the outcomes of the former one; marks beyond the end are of a topic that was made anew.
    take_in(settings, 1, 0)
    until(Backlog(settings).is_done, "the outcomes of the former start are found")
    take_in(settings, 0, 7)
    anew = Backlog(settings)
    assert not anew.is_done()
    assert anew.is_done({0: 3, 1: 1, 2: 2, 3: 0})  # as the query itself tells


def test_dead_letters_that_keep_coming_hold_up_nobody(settings: Settings) -> None:
    put(settings, topics.RAW, 0, "")
    backlog = Backlog(settings)
    asked, enough = Event(), Event()

    def ask() -> None:
        for _ in range(5):  # the first time it may find nothing yet
            assert not backlog.is_done()
        asked.set()

    def bury() -> None:
        producer = open_producer(settings, "strom-test")
        while not enough.wait(0.02):
            producer.produce(topics.DEAD_LETTER, b"x", headers=[(topics.HEADER_ORIGIN, "elsewhere/0/1")])
            producer.poll(0)
        producer.flush(60)

    asking, burying = Thread(target=ask, daemon=True), Thread(target=bury, daemon=True)
    burying.start()
    asking.start()
    try:
        assert asked.wait(60), "it reads on and on"
    finally:
        enough.set()
        burying.join()
    put(settings, topics.DEAD_LETTER, 1, "sma-kafka/0/0")
    until(backlog.is_done, "the letter behind all of them is seen")


@pytest.mark.parametrize(
    "origin", ["sma-kafka/0/" + "9" * 5_000, "sma-kafka/0/²", "sma-kafka/0/1", "sma-kafka/-1/0"]
)
def test_a_dead_letter_with_an_impossible_origin_is_no_outcome(settings: Settings, origin: str) -> None:
    put(settings, topics.RAW, 0, "")
    put(settings, topics.DEAD_LETTER, 0, origin)
    backlog = Backlog(settings)
    assert not backlog.is_done()
    put(settings, topics.DEAD_LETTER, 0, "sma-kafka/0/0")
    until(backlog.is_done, "the true one is seen")


def test_while_kafka_is_away_nobody_has_caught_up(servers: Stack, spark: SparkSession) -> None:
    settings = servers.settings
    put(settings, topics.READINGS, 1, "", "")
    readings = source(spark, settings, topics.READINGS)
    query = readings.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()

    caught_up = CaughtUp(settings)
    assert caught_up.tells(None, None, query)
    servers.halt("kafka")
    assert not caught_up.tells(None, None, query)
    servers.resume("kafka")
    servers.await_ready("kafka")
    until(lambda: caught_up.tells(None, None, query), "an answer of the Kafka that is back")
    put(settings, topics.READINGS, 1, "")
    assert not caught_up.tells(None, None, query)


def test_what_waits_on_the_side_is_not_taken_in_yet(
    settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    def started(topic: str) -> StreamingQuery:
        writer = source(spark, settings, topic).writeStream.format("noop")
        return writer.option("checkpointLocation", str(tmp_path / topic)).start()

    side, store = started(topics.SIDE), started(topics.READINGS)
    try:
        caught_up = CaughtUp(settings)
        until(lambda: caught_up.tells(None, side, store), "empty topics are taken in")
        side.stop()
        put(settings, topics.SIDE, 1, "sma-kafka/1/0")
        assert not caught_up.tells(None, side, store)
        side = started(topics.SIDE)
        until(lambda: caught_up.tells(None, side, store), "the record on the side is taken in")
    finally:
        side.stop()
        store.stop()
