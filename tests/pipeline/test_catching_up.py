"""What `strom pipeline run --until-caught-up` brings into the tables and the lake is there once: after a fix and a redrive, and when it was stopped before it was done."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.pipeline import parse
from strom.pipeline.job import Pipeline
from strom.pipeline.store_job import StoreJob
from strom.pipeline.strangers import Strangers
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.schema import connect
from strom.streams import topics
from strom.streams.producer import open_producer
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.conftest import settings_in
from tests.streams.writing import SECONDS, strom

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

FIRST = 1_763_229_600  # 2025-11-15T18:00:00Z, a quarter-hour's border
MINUTES = 31


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with Stack(settings_in(tmp_path_factory.mktemp("redrive") / "home"), ["kafka", "postgres"]) as stack:
        yield stack.settings


def send(settings: Settings, name: str) -> None:
    """A reading a minute, each 10 Wh more, as the bridge writes them where no MQTT topic names the meter."""
    producer = open_producer(settings, "strom-test")
    for minute in range(MINUTES):
        time = FIRST + minute * 60
        value = {"name": name, "1-0:1.8.0": {"value": 1000 + 10 * minute, "time": time}}
        received = str(time * 1000 + 200).encode()
        headers: list[tuple[str, str | bytes | None]] = [
            ("strom-source", b"mqtt"),
            ("strom-received", received),
        ]
        producer.produce(topics.RAW, json.dumps(value).encode(), name.encode(), headers=headers)
    assert producer.flush(SECONDS) == 0


def run(settings: Settings, spark: SparkSession) -> None:
    """In the session that the tests share."""
    assert Pipeline(settings).catch_up(spark)


def tables(settings: Settings, spark: SparkSession) -> dict[str, Any]:
    with connect(settings.postgres_url) as connection:
        profile = connection.execute(
            "SELECT meter, import_wh, quality, samples, version FROM load_profile ORDER BY meter, start"
        ).fetchall()
        latest = connection.execute("SELECT meter, import_wh FROM readings_latest ORDER BY meter").fetchall()
    lake = Path(settings.lake_root) / "readings"
    rows = (
        spark.read.format("delta").load(str(lake)).groupBy("meter").count().collect() if lake.exists() else []
    )
    return {"profile": profile, "latest": latest, "lake": {row["meter"]: row["count"] for row in rows}}


def no_name(_: Column) -> Column:
    """The rule of a release that could not read these names yet."""
    return F.lit(None).cast("string")


def test_what_was_refused_is_in_the_tables_and_the_lake_once_after_a_fix_and_a_redrive(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(settings, "haus-1")
    with monkeypatch.context() as before_the_fix:
        before_the_fix.setattr(parse, "owner_name", no_name)
        run(settings, spark)
    assert tables(settings, spark) == {"profile": [], "latest": [], "lake": {}}
    with Records(settings, [topics.DEAD_LETTER], start=EARLIEST, until_end=True) as letters:
        assert [letter.header("strom-reason") for letter in letters] == ["no-meter"] * MINUTES

    send(settings, "haus-2")  # what comes after the fix needs no redrive
    assert strom(settings, "dead-letters", "redrive").stdout == f"{MINUTES} sent in anew.\n"
    run(settings, spark)
    expected = {
        "profile": [
            (meter, Decimal("150.000"), "measured", 15, 1) for meter in ("haus-1", "haus-2") for _ in range(2)
        ],
        "latest": [(meter, Decimal("1300.000")) for meter in ("haus-1", "haus-2")],
        "lake": {"haus-1": MINUTES, "haus-2": MINUTES},
    }
    assert tables(settings, spark) == expected

    assert (
        strom(settings, "dead-letters", "redrive").stdout == f"0 sent in anew; {MINUTES} had been before.\n"
    )
    run(settings, spark)
    assert tables(settings, spark) == expected


def test_stopped_between_it_says_so_and_the_next_one_goes_on(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(settings, "haus-3")
    few = settings.pipeline.model_copy(update={"max_batch": MINUTES // 4})
    pipeline = Pipeline(settings.model_copy(update={"pipeline": few}))
    with monkeypatch.context() as stopping:

        def process(job: StoreJob, batch: DataFrame, number: int) -> None:
            taken_in(job, batch, number)
            pipeline.stop()

        taken_in = StoreJob.process
        stopping.setattr(StoreJob, "process", process)
        assert not pipeline.catch_up(spark)
    assert tables(settings, spark)["lake"].get("haus-3", 0) < MINUTES
    run(settings, spark)
    found = tables(settings, spark)
    assert found["lake"]["haus-3"] == MINUTES
    assert [row[1:] for row in found["profile"] if row[0] == "haus-3"] == [
        (Decimal("150.000"), "measured", 15, 1) for _ in range(2)
    ]


def test_records_that_somebody_else_wrote_into_readings_are_told_and_no_others(
    settings: Settings, spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_again: list[Any] = []

    def tell(self: Strangers, source: Any) -> None:
        read_again.append(source)
        told_of(self, source)

    told_of = Strangers._tell
    monkeypatch.setattr(Strangers, "_tell", tell)
    send(settings, "haus-4")
    run(settings, spark)
    assert read_again == []

    send(settings, "haus-5")
    producer = open_producer(settings, "strom-test")
    producer.produce(topics.READINGS, b'{"meter":"haus-5"}', b"haus-5", partition=1)
    producer.produce(topics.READINGS, b"hello", partition=1)
    assert producer.flush(SECONDS) == 0
    run(settings, spark)
    told = [record.getMessage() for record in caplog.records if "not written by normalise" in record.msg]
    assert len(told) == 1
    assert told[0].startswith(
        "2 records in readings were not written by normalise and were left out, the first one at readings/1/"
    )
    assert tables(settings, spark)["lake"]["haus-5"] == MINUTES
    assert len(read_again) == 1
