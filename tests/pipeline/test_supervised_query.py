"""A query that fails goes on from its checkpoint, whatever is away meanwhile; one that fails every time ends the pipeline."""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline import supervised_query
from strom.pipeline.queries import refuse_if_away, source
from strom.pipeline.supervised_query import LONGEST_PAUSE, MOST_FAILURES, STABLE_SECONDS, SupervisedQuery
from strom.restart_record import RestartRecord
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from tests.outages import halted
from tests.streams.writing import write
from tests.waiting import until

SECONDS = 120.0


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses: there are many of them."""
    monkeypatch.setattr(supervised_query, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(supervised_query, "LONGEST_PAUSE", 0.05)


class Run:
    """A run of a query, as far as its supervisor looks at it; never any progress, as in the first minutes of a real one."""

    def __init__(self, failure: str | None = None) -> None:
        self.name = "normalise"
        self.lastProgress = None
        self._failure = failure
        self.isActive = True

    def fail(self, failure: str = "the executor was lost") -> None:
        self._failure, self.isActive = failure, False

    def exception(self) -> str | None:
        return self._failure


class Scene:
    """A supervised query whose runs, starts and clock are in the test's hands."""

    def __init__(self, **options: Any) -> None:
        self.now = 1000.0
        self.runs: list[Run] = []
        self.away: Exception | None = None
        self.options = options

    def supervise(self) -> SupervisedQuery:
        return SupervisedQuery("normalise", self.start, clock=lambda: self.now, **self.options)

    def start(self) -> StreamingQuery:
        if self.away is not None:
            raise self.away
        self.runs.append(Run())
        return cast(StreamingQuery, self.runs[-1])

    def fail_after(self, supervised: SupervisedQuery, seconds: float) -> None:
        """The run lasts this long and fails; then the back-off passes."""
        self.now += seconds
        self.runs[-1].fail()
        supervised.check()
        self.pass_back_off(supervised)

    def pass_back_off(self, supervised: SupervisedQuery) -> None:
        self.now += LONGEST_PAUSE
        supervised.check()


def test_a_run_that_fails_is_started_again_only_after_its_back_off(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    record = RestartRecord()
    monkeypatch.setattr(supervised_query, "RESTARTS", record)
    scene = Scene()
    supervised = scene.supervise()
    scene.runs[0].fail("the executor was lost")
    supervised.check()
    supervised.check()
    assert len(scene.runs) == 1
    scene.pass_back_off(supervised)
    assert supervised.query is cast(StreamingQuery, scene.runs[1])
    failed, again = [record.getMessage() for record in caplog.records]
    assert failed.startswith("the query normalise ended (the executor was lost); it is started again in ")
    assert again == "the query normalise is started again"
    assert record.count == 1


def test_failures_in_a_row_end_it_however_little_a_run_has_reported() -> None:
    scene = Scene()
    supervised = scene.supervise()
    for _ in range(MOST_FAILURES - 1):
        scene.fail_after(supervised, STABLE_SECONDS / 2)
    with pytest.raises(StromError, match="normalise ended 6 times in a row: the executor was lost"):
        scene.fail_after(supervised, STABLE_SECONDS / 2)


def test_a_run_that_lasted_some_minutes_without_a_report_was_a_good_one() -> None:
    """The real-time query reports when a batch of five minutes ends: four minutes of work have no progress."""
    scene = Scene()
    supervised = scene.supervise()
    for _ in range(3 * MOST_FAILURES):
        scene.fail_after(supervised, 240.0)
    assert len(scene.runs) == 3 * MOST_FAILURES + 1


def test_a_start_that_fails_while_a_server_is_away_is_tried_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    supervised = scene.supervise()
    scene.runs[0].fail()
    scene.away = StromError("Kafka does not answer.")
    for _ in range(5 * MOST_FAILURES):
        supervised.check()
        scene.pass_back_off(supervised)
    assert len(scene.runs) == 1
    scene.away = None
    scene.pass_back_off(supervised)
    assert len(scene.runs) == 2
    assert "could not be started (Kafka does not answer.); it is started again in" in caplog.text


def test_a_start_that_fails_for_no_server_ends_it_after_some_attempts() -> None:
    scene = Scene()
    supervised = scene.supervise()
    scene.runs[0].fail()
    supervised.check()
    scene.away = ValueError("the checkpoint is broken\nand more")
    for _ in range(MOST_FAILURES - 2):
        scene.pass_back_off(supervised)
    with pytest.raises(
        StromError, match=r"could not be started 6 times in a row: ValueError: the checkpoint is broken$"
    ):
        scene.pass_back_off(supervised)


def test_what_others_do_not_depend_on_is_tried_for_ever_from_its_first_start_on() -> None:
    scene = Scene(gives_up=False)
    scene.away = ValueError("no Python")
    supervised = scene.supervise()
    assert (supervised.query, supervised.is_at_work) == (None, False)
    for _ in range(2 * MOST_FAILURES):
        scene.pass_back_off(supervised)
    scene.away = None
    scene.pass_back_off(supervised)
    for _ in range(2 * MOST_FAILURES):
        scene.fail_after(supervised, 1.0)
    assert len(scene.runs) == 2 * MOST_FAILURES + 1


def test_the_first_start_of_what_others_depend_on_fails_at_once() -> None:
    scene = Scene()
    scene.away = StromError("Kafka does not answer.")
    with pytest.raises(StromError, match="Kafka does not answer"):
        scene.supervise()


class Sink:
    """Takes numbers and fails as often as it is told to, after it has seen them."""

    def __init__(self, spark: SparkSession, folder: Path, failures: int) -> None:
        self._source = spark.readStream.format("text").load(str(_lines(folder)))
        self._checkpoint = str(folder / "checkpoint")
        self.failures = failures
        self.attempts: list[tuple[int, int]] = []

    def start(self) -> StreamingQuery:
        writer = self._source.writeStream.foreachBatch(self._take).option(
            "checkpointLocation", self._checkpoint
        )
        return writer.trigger(processingTime="0 seconds").start()

    def _take(self, batch: DataFrame, number: int) -> None:
        self.attempts.append((number, batch.count()))
        if len(self.attempts) <= self.failures:
            raise StromError("Postgres stopped answering")


def _lines(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "lines").write_text("one\ntwo\n", encoding="ascii")
    return source


def _check_until(supervised: SupervisedQuery, condition: Callable[[], object]) -> None:
    def checked() -> object:
        supervised.check()
        return condition()

    until(checked, seconds=SECONDS)


@pytest.mark.usefixtures("hasty")
def test_a_query_that_fails_goes_on_with_the_batch_it_failed_at(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path, failures=2)
    supervised = SupervisedQuery("sink", sink.start)
    assert supervised.query is not None
    try:
        _check_until(supervised, lambda: supervised.query.isActive and supervised.query.lastProgress)  # type: ignore[union-attr]
    finally:
        supervised.query.stop()
    assert sink.attempts == [(0, 2)] * 3


@pytest.mark.usefixtures("hasty")
def test_a_query_that_fails_every_time_is_told_with_its_reason(spark: SparkSession, tmp_path: Path) -> None:
    sink = Sink(spark, tmp_path, failures=1000)
    supervised = SupervisedQuery("sink", sink.start)
    with pytest.raises(StromError, match="Postgres stopped answering"):
        _check_until(supervised, lambda: False)
    assert len(sink.attempts) == MOST_FAILURES


@pytest.fixture
def servers(own_settings: Settings) -> Iterator[Stack]:
    with Stack(own_settings, ["kafka"]) as stack:
        yield stack


@pytest.mark.stack
@pytest.mark.usefixtures("hasty")
def test_a_query_that_fails_while_kafka_is_away_goes_on_when_it_is_back(
    servers: Stack, spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, reached, away = servers.settings, Event(), Event()
    taken: list[int] = []

    def take(batch: DataFrame, _: int) -> None:
        if not away.is_set():
            reached.set()
            assert away.wait(SECONDS)
            raise StromError("the outbox is not confirmed")
        taken.append(batch.count())

    def start() -> StreamingQuery:
        refuse_if_away(settings, [topics.READINGS])
        writer = source(spark, settings, topics.READINGS).writeStream.foreachBatch(take)
        return writer.option("checkpointLocation", str(tmp_path)).start()

    write(settings, topics.READINGS, b"one", b"two", at_ms=int(time.time() * 1000))
    supervised = SupervisedQuery("store", start)
    try:
        assert reached.wait(SECONDS)
        with halted(servers):
            away.set()
            _check_until(
                supervised, lambda: caplog.text.count("could not be started (Kafka at") > MOST_FAILURES
            )
        _check_until(supervised, lambda: taken)
    finally:
        if supervised.query is not None:
            supervised.query.stop()
    assert taken == [2]
