"""Warming up leaves no trace in topics, tables and lake, and ends when the pipeline is told to."""

import tempfile
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline import warm_up as module
from strom.pipeline.job import Pipeline
from strom.pipeline.stages import STAGES
from strom.pipeline.warm_up import temporary_lake, warm_up
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client
from strom.streams.offsets import end_offsets, partitions_of
from tests.pipeline.batches import fetch

pytestmark = pytest.mark.stack


def test_it_runs_every_stage_and_leaves_nothing_behind(
    own: Settings, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MESSAGES", 400)
    monkeypatch.setattr(module, "_METERS", 20)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    ran: list[int] = []
    run = module._run
    monkeypatch.setattr(module, "_run", lambda frame: ran.append(frame.count()) or run(frame))  # type: ignore[func-returns-value]
    places = partitions_of(dict.fromkeys((topics.RAW, topics.READINGS), own.kafka.partitions))
    before = end_offsets(own, admin_client(own), places)
    warm_up(spark, own, STAGES, lambda: False)
    assert ran[0] == 400
    assert all(ran)
    assert end_offsets(own, admin_client(own), places) == before
    assert fetch(own, "SELECT (SELECT count(*) FROM meters), (SELECT count(*) FROM pipeline_marks)") == [
        (0, 0)
    ]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not Path(own.lake_root).exists()


def test_a_pipeline_that_is_to_end_does_not_warm_up(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    monkeypatch.setattr(module, "_run", ran.append)
    warm_up(spark, own, STAGES, lambda: True)
    assert ran == []


def test_on_several_machines_its_lake_is_where_the_checkpoints_are(
    own: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    elsewhere = own.spark.model_copy(update={"master": "spark://10.0.0.1:7077"})
    checkpoints = own.pipeline.model_copy(update={"checkpoints": str(tmp_path / "shared")})
    far = own.model_copy(update={"spark": elsewhere, "pipeline": checkpoints})
    for _ in range(2):
        with temporary_lake(spark, far) as folder:
            spark.range(3).write.parquet(f"{folder}/readings")
            assert Path(folder).parent == tmp_path / "shared"
        assert not Path(folder).exists()
    with temporary_lake(spark, far):
        pass


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StromError("Kafka is away."), "Kafka is away."),
        (AnalysisException("no such column\n\tat org.apache.spark"), "AnalysisException: no such column"),
        (Py4JError("An error occurred\n\tat py4j"), "Py4JError: An error occurred"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_warm_up_that_fails_is_one_warning_and_the_pipeline_goes_on(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    told: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("strom.pipeline.job.warm_up", fail)
    Pipeline(Settings(home=tmp_path))._warm_up(spark)
    assert [record.getMessage() for record in caplog.records] == [
        f"the pipeline starts cold, for it could not warm up: {told}"
    ]


def test_without_a_place_for_temporary_files_the_pipeline_starts_cold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    Pipeline(Settings(home=tmp_path))._warm_up(spark)
    assert "the pipeline starts cold, for it could not warm up: FileNotFoundError: " in caplog.text
