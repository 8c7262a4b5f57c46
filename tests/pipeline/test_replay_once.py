"""A replay in place reads each file of the lake once, however many groups of meters it goes in, and goes on where it was killed."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.lake.table import Lake
from strom.pipeline.replay.in_place import InPlace
from strom.pipeline.replay.plan import Plan
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START, Sent, batch, fetch, numbered, reading, take
from tests.pipeline.crashing import CrashError
from tests.pipeline.expected_tables import assert_tables_are_the_function_of
from tests.pipeline.spark_metrics import lake_files_read

pytestmark = pytest.mark.stack
HOUR = 3_600_000
DAY = 24 * HOUR
METERS, DAYS = 12, 4
SINCE = START + 2 * DAY + HOUR


@pytest.fixture
def filled(
    own: Settings, spark: SparkSession, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[Settings, list[Sent]]:
    """Some days of some meters, two files a day; a replay of them goes in many groups."""
    pipeline = own.pipeline.model_copy(update={"checkpoints": str(tmp_path / "checkpoints")})
    settings = own.model_copy(update={"pipeline": pipeline})
    monkeypatch.setattr("strom.pipeline.replay.in_place.PIECE_READINGS", 100)
    times = [START + n * HOUR // 2 for n in range(DAYS * 48)]
    sent = numbered(
        [
            reading(f"m{number}", at, import_wh=(at - START) / HOUR * 50)
            for at in times
            for number in range(METERS)
        ]
    )
    job = StoreJob(settings, spark, passes=False)
    size = len(sent) // (2 * DAYS)
    for number in range(2 * DAYS):
        job.process(batch(spark, sent[number * size : (number + 1) * size]), number)
    job.settle()
    job.close()
    return settings, sent


def spoil(settings: Settings) -> None:
    """Make the quarter-hours of the span wrong."""
    fetch(
        settings,
        "UPDATE load_profile SET import_wh = 7, version = version "  # noqa: S608
        f"WHERE start >= to_timestamp({(SINCE) // 1000}) RETURNING 1",
    )


def test_each_file_of_the_span_is_read_once(filled: tuple[Settings, list[Sent]], spark: SparkSession) -> None:
    settings, sent = filled
    lake = Lake(settings, spark)
    assert lake.files().count() == 2 * DAYS
    spoil(settings)
    said: list[str] = []
    replay = InPlace(settings, spark, Plan(since=SINCE), said.append)
    assert lake_files_read(spark, lambda: replay.run(Event())) == 4
    assert len(said) > 5
    assert said[-1].startswith("100 %")
    assert_tables_are_the_function_of(settings, spark, sent)


def test_killed_between_two_groups_it_goes_on_without_the_lake_and_takes_what_came_meanwhile(
    filled: tuple[Settings, list[Sent]], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, sent = filled
    spoil(settings)
    plan = Plan(since=SINCE)
    took: list[int] = []
    take_again: Callable[..., None] = StoreJob.take_again

    def killed(*values: Any, **named: Any) -> None:
        if len(took) == 2:
            raise CrashError
        took.append(1)
        take_again(*values, **named)

    with monkeypatch.context() as patch:
        patch.setattr(StoreJob, "take_again", killed)
        with pytest.raises(CrashError):
            InPlace(settings, spark, plan, lambda line: None).run(Event())
    late = numbered(
        [
            reading(f"m{number}", START + 3 * DAY + 1000, import_wh=72 * 50 + number / 10)
            for number in range(METERS)
        ],
        len(sent),
    )
    job = StoreJob(settings, spark, passes=False)
    job.process(batch(spark, late), 99)
    job.close()
    rest = InPlace(settings, spark, plan, lambda line: None)
    assert lake_files_read(spark, lambda: rest.run(Event())) == 0  # but for the versions since
    job = StoreJob(settings, spark, passes=False)
    job.settle()
    take(
        job,
        batch(spark, numbered([reading("m0", START + DAYS * DAY, import_wh=4900)], len(sent) + len(late))),
        100,
    )
    job.close()
    assert_tables_are_the_function_of(
        settings,
        spark,
        [*sent, *late, *numbered([reading("m0", START + DAYS * DAY, import_wh=4900)], len(sent) + len(late))],
    )
