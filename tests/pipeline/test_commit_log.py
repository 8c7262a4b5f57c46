"""The lake's log: what it tells is found without reading all of it, and what it tells no more is read from the lake."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.lake.commit_log import CommitLog
from strom.pipeline.lake.table import Lake
from strom.pipeline.replay.in_place import InPlace
from strom.pipeline.replay.plan import Plan
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START, batch, numbered, reading
from tests.pipeline.crashing import CrashError, crash
from tests.pipeline.expected_tables import assert_tables_are_the_function_of

MINUTE = 60_000


@pytest.mark.parametrize("gone", [0, 1, 5, 8])
def test_versions_are_found_by_their_times(spark: SparkSession, tmp_path: Path, gone: int) -> None:
    table = str(tmp_path / "table")
    for number in range(9):
        spark.range(1).write.format("delta").mode("append").save(table)
        os.utime(f"{table}/_delta_log/{number:020d}.json", (1_000 + 10 * number, 1_000 + 10 * number))
    for number in range(gone):
        (tmp_path / "table" / "_delta_log" / f"{number:020d}.json").unlink()
    log = CommitLog(spark, table)
    assert log.oldest(8) == gone
    assert [log.has(version) for version in range(10)] == [gone <= version <= 8 for version in range(10)]
    for version in range(gone, 9):
        made = (1_000 + 10 * version) * 1_000
        assert log.written_ms(version) == made
        assert log.newest_at(made, 8) == version
        assert log.newest_at(made + 9_999, 8) == version
        assert log.newest_at(made - 1, 8) == (version - 1 if version > gone else None)


def forget_commits(spark: SparkSession, settings: Settings) -> None:
    """As Delta does behind a checkpoint, once they are older than `lake.versions_hours`."""
    jvm: Any = spark._jvm
    path = f"{settings.lake_root}/readings"
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    log.checkpoint()
    newest = Lake(settings, spark).version()
    for version in range(newest):
        Path(path, "_delta_log", f"{version:020d}.json").unlink(missing_ok=True)


@pytest.mark.stack
def test_a_pass_that_the_log_has_forgotten_goes_over_all_readings_and_counts_each_once(
    own: Settings, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the first stages ran for longer than the log is kept, and late readings were among what came."""
    sent = numbered([reading(at=START + m * MINUTE, import_wh=m, import_w=60) for m in range(0, 120, 2)])
    job = StoreJob(own, spark, tells=False)
    job.process(batch(spark, sent), 0)
    job.settle()
    job.close()
    alone = StoreJob(own, spark, stages=("archive",), tells=False)
    for number in range(3):
        more = numbered(
            [
                reading(at=START + m * MINUTE, import_wh=m, import_w=40)
                for m in range(51 + number, 140 + number, 9)
            ],
            len(sent),
        )
        alone.process(batch(spark, more), number)
        sent = [*sent, *more]
    alone.close()
    forget_commits(spark, own)
    job = StoreJob(own, spark, tells=False)
    with caplog.at_level(logging.WARNING, "strom.pipeline.lake.archive"):
        job.settle()
    assert "does not tell any more what it got after version" in caplog.text
    job.close()
    assert_tables_are_the_function_of(own, spark, sent)


@pytest.mark.stack
def test_a_replay_in_place_that_the_log_has_forgotten_reads_the_lake_anew(
    own: Settings, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = own.pipeline.model_copy(update={"checkpoints": str(tmp_path / "checkpoints")})
    own = own.model_copy(update={"pipeline": pipeline})
    sent = numbered(
        [
            reading(f"m{number}", START + m * MINUTE, import_wh=m)
            for m in range(0, 120, 2)
            for number in range(5)
        ]
    )
    job = StoreJob(own, spark, tells=False)
    job.process(batch(spark, sent), 0)
    job.settle()
    monkeypatch.setattr("strom.pipeline.replay.in_place.PIECE_READINGS", 100)
    take_again: Callable[..., None] = StoreJob.take_again
    took: list[int] = []

    def killed(*values: Any, **named: Any) -> None:
        if took:
            raise CrashError
        took.append(1)
        take_again(*values, **named)

    with monkeypatch.context() as patch:
        patch.setattr(StoreJob, "take_again", killed)
        with pytest.raises(CrashError):
            InPlace(own, spark, Plan(), lambda line: None).run(Event())
    late = numbered(
        [reading(f"m{number}", START + 61 * MINUTE, import_wh=60.5) for number in range(5)], len(sent)
    )
    job.process(batch(spark, late), 1)
    more = numbered([reading("m0", START + 130 * MINUTE, import_wh=130)], 999)
    job.process(batch(spark, more), 2)
    forget_commits(spark, own)
    assert not InPlace(own, spark, Plan(), lambda line: None).run(Event()).stopped
    job.settle()
    job.close()
    assert_tables_are_the_function_of(own, spark, [*sent, *late, *more])


@pytest.mark.stack
def test_a_step_whose_version_of_the_lake_is_gone_ends_over_the_present_one(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = numbered([reading(at=START + m * MINUTE, import_wh=m, import_w=60) for m in range(0, 120, 2)])
    job = StoreJob(own, spark, tells=False, passes=False)
    job.process(batch(spark, sent), 0)
    for fails in ("arrivals", "settlement"):
        with monkeypatch.context() as patch:
            patch.setattr(job._over, fails, crash)
            with pytest.raises(CrashError):
                job.settle()
    more = numbered(
        [reading(at=START + m * MINUTE, import_wh=m, import_w=60) for m in range(51, 140, 9)], len(sent)
    )
    job.process(batch(spark, more), 1)
    forget_commits(spark, own)
    job.settle()
    job.close()
    assert_tables_are_the_function_of(own, spark, [*sent, *more])
