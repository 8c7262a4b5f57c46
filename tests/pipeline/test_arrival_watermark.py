"""The watermark moves on while records keep coming, and never past a record that has not become anything yet."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline import arrival_watermark
from strom.pipeline.arrival_watermark import ArrivalWatermark
from strom.pipeline.positions import Queries
from strom.pipeline.queries import source
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.mark_tables import LAKE, Mark, save_marks
from strom.store.schema import ensure_schema
from strom.store.writes import Writer
from strom.streams import topics
from tests.pipeline.watermarks import NOTHING_RUNS, put, reaches, take_in
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


def test_it_is_the_time_of_a_probe_whose_records_have_all_become_something(settings: Settings) -> None:
    put(settings, topics.RAW, 0, "", "", "")
    put(settings, topics.RAW, 2, "", "")
    watermark = ArrivalWatermark(settings)
    watermark.advance(100, NOTHING_RUNS)
    put(settings, topics.RAW, 1, "")  # of later probes, which do not overtake
    take_in(settings, 0, 2)
    put(settings, topics.DEAD_LETTER, 1, "sma-kafka/2/0", "somewhere/2/9", "no origin")
    watermark.advance(200, NOTHING_RUNS)
    assert watermark.readings_ms is None
    put(settings, topics.DEAD_LETTER, 3, "sma-kafka/2/1")

    def is_through() -> bool:
        watermark.advance(300, NOTHING_RUNS)
        return watermark.readings_ms is not None

    until(is_through, "the last dead letter is seen")
    for _ in range(3):
        watermark.advance(300, NOTHING_RUNS)
    assert watermark.readings_ms == 100
    take_in(settings, 1, 0)
    until(lambda: reaches(watermark, 300), "all that were under way are through")


def test_it_moves_on_while_records_keep_coming_on_one_partition_and_another_is_idle(
    settings: Settings,
) -> None:
    """Its last idle record was a dead letter; the other partition is never taken in to its end."""
    put(settings, topics.RAW, 0, "")
    put(settings, topics.RAW, 1, "", "")
    put(settings, topics.DEAD_LETTER, 2, "sma-kafka/1/1")
    watermark, enough = ArrivalWatermark(settings), Event()

    def keep_sending() -> None:
        sent = 0
        while not enough.wait(0.05):
            put(settings, topics.RAW, 0, "", "")
            sent += 2
            take_in(settings, 0, sent - 1)  # one is always missing

    sending = Thread(target=keep_sending, daemon=True)
    sending.start()
    try:
        for now in (1_000, 2_000, 3_000):
            until(lambda now=now: reaches(watermark, now), "a later probe is through")  # type: ignore[misc]
    finally:
        enough.set()
        sending.join()
    assert (watermark.readings_ms or 0) >= 3_000


@pytest.mark.parametrize("offset", [1, 10**15])
def test_what_only_claims_to_have_been_a_raw_record_moves_nothing(settings: Settings, offset: int) -> None:
    put(settings, topics.RAW, 0, "")
    put(
        settings,
        topics.DEAD_LETTER,
        0,
        f"sma-kafka/0/{offset}",
        "sma-kafka/0/" + "9" * 5_000,
        "sma-kafka/0/²",
    )
    watermark = ArrivalWatermark(settings)
    take_in(settings, 0, 7)  # of a topic that was made anew since
    for now in range(5):
        watermark.advance(now, NOTHING_RUNS)
    assert watermark.readings_ms is None
    put(settings, topics.DEAD_LETTER, 0, "sma-kafka/0/0")
    until(lambda: reaches(watermark, 0), "the true dead letter is seen")


def test_a_part_of_a_large_message_has_been_seen_though_nothing_came_of_it(settings: Settings) -> None:
    put(settings, topics.RAW, 3, "")
    seen: dict[int, int] = {}
    watermark = ArrivalWatermark(settings, lambda: seen)
    watermark.advance(5, NOTHING_RUNS)
    assert watermark.side_ms is None
    seen[3] = 0
    until(lambda: reaches(watermark, 5), "the part is seen")
    assert watermark.side_ms == 5


def test_while_kafka_is_away_nothing_is_known_and_some_time_after(servers: Stack) -> None:
    """What the doors hold when Kafka comes back has arrived before, and is not in the raw topic yet."""
    settings = servers.settings
    put(settings, topics.RAW, 1, "")
    take_in(settings, 1, 0)
    seconds = [0.0]
    watermark = ArrivalWatermark(settings, clock=lambda: seconds[0], first_pause=30.0)
    seconds[0] = 29.9  # the doors may have just begun, too
    for _ in range(5):
        assert not reaches(watermark, 1)
    seconds[0] = 30.0
    until(lambda: reaches(watermark, 1), "the record is in the lake")
    servers.halt("kafka")
    with pytest.raises(StromError):
        watermark.advance(2, NOTHING_RUNS)
    servers.resume("kafka")
    servers.await_ready("kafka")
    watermark.advance(3, NOTHING_RUNS)
    assert watermark.readings_ms == 1
    seconds[0] = 60.0
    until(lambda: reaches(watermark, 4), "an answer of the Kafka that is back")


def test_what_waits_on_the_side_or_in_readings_holds_it_back(
    settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    def started(topic: str) -> StreamingQuery:
        writer = source(spark, settings, topic).writeStream.format("noop")
        return writer.option("checkpointLocation", str(tmp_path / topic)).start()

    running = {topic: started(topic) for topic in (topics.SIDE, topics.READINGS)}
    watermark = ArrivalWatermark(settings)

    def queries() -> Queries:
        return Queries(None, running[topics.SIDE], running[topics.READINGS])

    try:
        until(lambda: reaches(watermark, 1, queries()), "empty topics are taken in")
        for now, topic in ((10, topics.SIDE), (20, topics.READINGS)):
            running[topic].stop()
            put(settings, topic, 1, "sma-kafka/1/0")
            for _ in range(3):
                watermark.advance(now, queries())
            assert (watermark.readings_ms or 0) < now
            running[topic] = started(topic)
            until(lambda now=now: reaches(watermark, now, queries()), "the record is taken in")  # type: ignore[misc]
        put(settings, topics.RAW, 2, "")
        for _ in range(3):
            watermark.advance(30, queries())
        assert (watermark.readings_ms or 0) < 30
        with Writer(settings.postgres_url) as writer, writer.work() as work:
            save_marks(work, LAKE, [Mark(topics.RAW, 2, 2, 0, 1)])
        until(lambda: reaches(watermark, 30, queries()), "the reading is in the lake")
    finally:
        for query in running.values():
            query.stop()


@pytest.mark.parametrize(
    "mark", [Mark("elsewhere", 2, 1, 0, 1), Mark(topics.RAW, 2, 1, 7, 1), Mark(topics.RAW, 7, 1, 0, 1)]
)
def test_a_mark_of_another_topic_or_of_one_made_anew_hides_no_other(
    settings: Settings, spark: SparkSession, tmp_path: Path, mark: Mark
) -> None:
    """`elsewhere` has as many records: its mark alone must not move anything."""
    put(settings, topics.RAW, 2, "")
    writer = source(spark, settings, topics.READINGS).writeStream.format("noop")
    store = writer.option("checkpointLocation", str(tmp_path / "store")).start()
    watermark, queries = ArrivalWatermark(settings), Queries(None, None, store)

    def note(*marks: Mark) -> None:
        with Writer(settings.postgres_url) as writer, writer.work() as work:
            save_marks(work, LAKE, marks)

    try:
        ensure_schema(settings.postgres_url)
        note(mark)
        for _ in range(3):
            watermark.advance(1, queries)
        assert watermark.readings_ms is None
        note(Mark(f"{topics.RAW}:side", 2, 2, 0, 1))
        until(lambda: reaches(watermark, 2, queries), "the reading is in the lake")
    finally:
        store.stop()


def test_readings_tell_of_raw_records_before_the_lake_does(
    settings: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    """Only the last of each partition are read, and not before the query has them is anything through."""
    writer = source(spark, settings, topics.READINGS).writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path / "store"))
    store = writer.start()
    watermark, queries = ArrivalWatermark(settings), Queries(None, None, store)
    try:
        until(lambda: reaches(watermark, 1, queries), "empty topics are taken in")
        store.stop()
        put(settings, topics.RAW, 0, "", "")
        put(settings, topics.READINGS, 3, *(f"{topics.RAW}/0/{number}" for number in (0, 1)))
        for _ in range(5):
            watermark.advance(2, queries)
        assert watermark.readings_ms == 1
        store = writer.start()
        queries = Queries(None, None, store)
        until(lambda: reaches(watermark, 2, queries), "the readings are taken in")
    finally:
        store.stop()


def test_many_probes_are_under_way_and_all_are_through_at_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that are too many the newest is followed."""
    monkeypatch.setattr(arrival_watermark, "_MOST_PROBES", 4)
    put(settings, topics.RAW, 0, "")
    watermark = ArrivalWatermark(settings)
    for now in range(1, 11):
        watermark.advance(now, NOTHING_RUNS)
        assert watermark.readings_ms is None
    take_in(settings, 0, 0)
    until(lambda: reaches(watermark, 11), "the last probe is through")


def test_a_watermark_that_stands_still_is_told_once_a_minute(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    put(settings, topics.RAW, 2, "", "")
    seconds = [0.0]
    watermark = ArrivalWatermark(settings, clock=lambda: seconds[0])
    take_in(settings, 2, 0)

    def told(at: float) -> int:
        seconds[0] = at
        watermark.advance(1, NOTHING_RUNS)
        return caplog.text.count("have not been judged for")

    until(lambda: told(0) or "at 1 of 2" in watermark._raw.lack, "the first reading is seen")
    assert [told(at) for at in (1, 150, 181, 200, 240, 242)] == [0, 0, 1, 1, 1, 2]
    assert "for 3 min: normalise has still to take in sma-kafka/2 (at 1 of 2)" in caplog.text
    take_in(settings, 2, 1)
    until(lambda: told(243) == 2 and watermark.readings_ms, "the watermark moves on")
    assert told(2_000) == 2
