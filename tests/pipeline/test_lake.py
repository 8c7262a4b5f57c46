"""The lake as a well-kept table: joined and sorted beside the writer, readable by others, with a past to look at."""

import json
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.lake import commit_marks
from strom.pipeline.lake.archive import Archive
from strom.pipeline.lake.status import lake_status, readings_of
from strom.pipeline.lake.table import Lake
from strom.pipeline.lake.upkeep import Upkeep
from strom.settings import LakeSettings, PipelineSettings, Settings
from strom.store.mark_tables import Mark
from tests.pipeline.batches import START, Sent, batch, numbered, reading
from tests.streams.writing import strom

pytestmark = pytest.mark.stack
DAY_MS = 86_400_000
FIRST = date(2026, 1, 1)
TODAY = date(2026, 1, 3)
METERS = [f"meter-{number}" for number in range(8)]


@pytest.fixture
def lake(tmp_path: Path) -> Settings:
    return Settings(
        home=tmp_path,
        pipeline=PipelineSettings(lake=str(tmp_path / "lake")),
        lake=LakeSettings(keep_days=3, versions_hours=1),
    )


def sent(day: int, number: int) -> list[Sent]:
    at = START + day * DAY_MS + number * 60_000
    return numbered([reading(meter, at, import_wh=number, import_w=1.5) for meter in METERS], number * 100)


def append(archive: Archive, spark: SparkSession, day: int, number: int) -> None:
    readings = sent(day, number)
    archive.append(batch(spark, readings), len(readings), [])


def origins(settings: Settings, spark: SparkSession) -> list[str]:
    return sorted(row.origin for row in Lake(settings, spark).readings().select("origin").collect())


def test_files_are_joined_and_sorted_while_the_writer_goes_on_and_a_second_round_does_nothing(
    lake: Settings, spark: SparkSession
) -> None:
    archive = Archive(spark, lake.lake_root)
    for number in range(4):
        append(archive, spark, 0, number)
    upkeep = Upkeep(lake, spark)
    written = threading.Event()

    def write() -> None:
        for number in range(4, 8):
            append(archive, spark, 0, number)
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    written.wait()
    upkeep.compact(TODAY)
    writer.join()
    upkeep.compact(TODAY)
    assert upkeep.compact(TODAY) == []
    assert [file.rows for file in upkeep.files()] == [8 * len(METERS)]
    assert origins(lake, spark) == sorted(each.origin for number in range(8) for each in sent(0, number))


def test_other_readers_of_delta_see_the_same(lake: Settings, spark: SparkSession) -> None:
    archive = Archive(spark, lake.lake_root)
    for number in range(2):
        append(archive, spark, 0, number)
    Upkeep(lake, spark).compact(TODAY)
    table = deltalake.DeltaTable(archive.path)
    query = "SELECT meter, count(*) AS n, max(import_wh) AS most FROM readings GROUP BY meter ORDER BY meter"
    found = deltalake.QueryBuilder().register("readings", table).execute(query).read_all()
    assert [str(meter) for meter in found["meter"].to_pylist()] == METERS
    assert found["n"].to_pylist() == [2] * len(METERS)
    assert table.metadata().partition_columns == ["date"]


def test_the_past_of_the_lake_can_be_looked_at(lake: Settings, spark: SparkSession) -> None:
    archive = Archive(spark, lake.lake_root)
    append(archive, spark, 0, 0)
    before = Lake(lake, spark).version()
    append(archive, spark, 0, 1)

    def shown(version: int | None) -> list[float]:
        lines = readings_of(lake, spark, "meter-3", version=version)
        return [json.loads(line)["import_wh"] for line in lines]

    assert (shown(None), shown(before)) == ([0, 1], [0])
    with pytest.raises(StromError, match="cannot be shown as of version 99"):
        shown(99)
    with pytest.raises(StromError, match="no such readings of nobody"):
        list(readings_of(lake, spark, "nobody"))
    with pytest.raises(StromError, match="no version as old as that"):
        list(readings_of(lake, spark, "meter-3", at_ms=START))


def test_days_beyond_those_kept_are_removed_and_others_stay(lake: Settings, spark: SparkSession) -> None:
    archive = Archive(spark, lake.lake_root)
    for day in (0, 1, 4):
        append(archive, spark, day, 0)
    upkeep = Upkeep(lake, spark)
    now = datetime(2026, 1, 5, tzinfo=UTC)
    for _ in range(2):
        upkeep.round(now)
    days = [day.day for day in lake_status(lake, spark).days]
    assert days == [FIRST + timedelta(days=number) for number in (1, 4)]


def test_a_lake_that_is_not_there_is_one_sentence(lake: Settings, spark: SparkSession) -> None:
    with pytest.raises(StromError, match="holds no readings yet"):
        lake_status(lake, spark)
    Upkeep(lake, spark).round(datetime(2026, 1, 5, tzinfo=UTC))


def test_the_verbs_say_what_the_lake_holds_and_spark_speaks_into_a_log(
    lake: Settings, spark: SparkSession
) -> None:
    append(Archive(spark, lake.lake_root), spark, 0, 0)
    told = strom(lake, "lake", "status")
    assert (told.returncode, told.stderr) == (0, "")
    assert f"{len(METERS)} readings, 1 files" in told.stdout
    assert (lake.home / "logs" / "lake.log").exists()


def test_the_log_keeps_former_versions_no_longer_than_their_files_and_a_second_round_leaves_it(
    lake: Settings, spark: SparkSession
) -> None:
    append(Archive(spark, lake.lake_root), spark, 2, 0)
    for _ in range(2):
        Upkeep(lake, spark).round(datetime(2026, 1, 3, tzinfo=UTC))
        table = Lake(lake, spark).table
        properties = table.detail().collect()[0]["properties"]
        assert properties["delta.logRetentionDuration"] == "interval 1 hours"
        assert properties["delta.deletedFileRetentionDuration"] == "interval 1 hours"
        assert table.history().where("operation = 'SET TBLPROPERTIES'").count() == 1


def test_the_newest_marks_are_found_behind_many_commits_that_tell_none(
    lake: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_marks, "_AT_ONCE", 2)
    archive, mark = Archive(spark, lake.lake_root), Mark("sma-kafka", 0, 1, 7, 99)
    archive.append(batch(spark, sent(2, 0)), len(METERS), [mark])
    for number in range(4):
        spark.sql(f"ALTER TABLE delta.`{archive.path}` SET TBLPROPERTIES ('strom.test' = '{number}')")
    assert Archive(spark, lake.lake_root).newest_marks() == [mark]
