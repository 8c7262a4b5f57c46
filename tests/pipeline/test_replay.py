"""A replay gives row for row what the live pipeline gave, into new tables and in place; a swap puts it in their place."""

import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.lake.table import Lake
from strom.pipeline.replay.in_place import InPlace
from strom.pipeline.replay.into import Into
from strom.pipeline.replay.job import Outcome
from strom.pipeline.replay.plan import Plan, by_time
from strom.pipeline.replay.swap import swap
from strom.pipeline.store_job import StoreJob
from strom.settings import PipelineSettings, PostgresSettings, RuleSettings, Settings
from strom.store.reads import Reads
from strom.streams.producer import open_producer
from strom.streams.topics import HEADER_ORIGIN, READINGS
from tests.pipeline.batches import moment, take
from tests.pipeline.simulated import HOUR, START, Arrived, day_batch, simulated_day

pytestmark = pytest.mark.stack
METERS = 5
HOURS = 24
MEANWHILE = 200  # readings that come while a replay runs, and after it
# Everything that people read. Live corrections raise versions; what is built anew begins at 1.
TABLES = {
    "load_profile": "meter, start, import_wh, export_wh, quality, samples, expected, flags, import_quality, "
    "export_quality, import_samples, export_samples",
    "slot_statistics": "*",
    "gaps": "*",
    "tariff_profile": "meter, tariff, start, import_wh, export_wh, quality, samples, expected, flags, import_quality, "
    "export_quality, import_samples, export_samples",
    "tariff_gaps": "*",
    "alerts": "*",
    "meters": "*",
    "readings_latest": "*",
    "late_readings": "*",
}


def database(stack: Settings, name: str, lake: Path) -> Settings:
    url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    places = {"postgres": PostgresSettings(url=url), "pipeline": PipelineSettings(lake=str(lake))}
    return stack.model_copy(update=places)


def rows_of(settings: Settings, schema: str = "public") -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(
        settings.postgres_url, options=f"-c timezone=UTC -c search_path={schema}"
    ) as connection:
        queries = {table: f"SELECT {columns} FROM {table}" for table, columns in TABLES.items()}  # noqa: S608
        return {
            table: sorted(connection.execute(query.encode()).fetchall(), key=repr)
            for table, query in queries.items()
        }


@pytest.fixture(scope="module")
def day() -> list[Arrived]:
    return simulated_day(METERS, HOURS, "sma-kafka-of-a-day")


@pytest.fixture(scope="module")
def live(
    stack: Settings, spark: SparkSession, day: list[Arrived], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """What the live pipeline made of the day but its end, in micro-batches of any size."""
    settings = database(stack, "replay_live", tmp_path_factory.mktemp("replay") / "lake")
    chance, place, number = random.Random(5), 0, 0
    while place < len(day) - MEANWHILE:
        size = min(chance.choice([40, 1500, 2500]), len(day) - MEANWHILE - place)
        go_on(settings, spark, day[place : place + size], number)
        place, number = place + size, number + 1
    yield settings
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(b"DROP DATABASE replay_live WITH (FORCE)")


def go_on(settings: Settings, spark: SparkSession, arrived: list[Arrived], number: int) -> None:
    """As the live pipeline does."""
    job = StoreJob(settings, spark)
    try:
        take(job, day_batch(spark, arrived), number)
        job.tick(arrived[-1].received)
    finally:
        job.close()


def into(settings: Settings, spark: SparkSession, name: str, **plan: Any) -> Outcome:
    return Into(settings, spark, Plan(into=name, **plan), lambda line: None).run(Event())


def versions(settings: Settings) -> list[tuple[Any, ...]]:
    with psycopg.connect(settings.postgres_url) as connection:
        return connection.execute("SELECT meter, start, version FROM load_profile ORDER BY 1, 2").fetchall()


def test_a_day_with_every_fault_comes_out_as_live_also_when_the_replay_was_stopped(
    live: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strom.pipeline.replay.into.by_time", partial(by_time, most=2_000))
    stop, said = Event(), list[str]()

    def report(line: str) -> None:
        said.append(line)
        stop.set()

    stopped = Into(live, spark, Plan(into="fresh"), report).run(stop)
    assert stopped.stopped
    assert len(said) == 1
    assert rows_of(live, "fresh") != rows_of(live)
    rest = into(live, spark, "fresh")
    assert not rest.stopped
    assert stopped.readings + rest.readings == Lake(live, spark).readings().count()
    built, wanted = rows_of(live, "fresh"), rows_of(live)
    for table in TABLES:
        assert built[table] == wanted[table], table
    kinds = {"silent", "voltage", "counter-back", "jump", "phase-loss", "clock"}
    assert {row[2] for row in wanted["alerts"]} == kinds
    assert {flag for row in wanted["load_profile"] for flag in row[7]} >= {"import-reset"}
    assert {row[1] for row in wanted["tariff_profile"]} == {1, 2}


def test_in_place_nothing_changes_where_nothing_is_wrong_and_only_what_is_wrong_is_corrected(
    live: Settings, spark: SparkSession
) -> None:
    wanted, before = rows_of(live), versions(live)
    meter, start, _ = before[40]
    with psycopg.connect(live.postgres_url) as connection:
        connection.execute(
            "UPDATE load_profile SET import_wh = import_wh + 1 WHERE meter = %s AND start = %s",
            (meter, start),
        )
        connection.execute(
            "UPDATE slot_statistics SET totals[1] = 7 WHERE meter = %s AND start = %s", (meter, start)
        )
        connection.execute("UPDATE tariff_profile SET import_wh = import_wh + 1 WHERE start = %s", (start,))
    since = int(start.timestamp() * 1000) - HOUR
    done = InPlace(live, spark, Plan(since=since, until=since + 3 * HOUR), lambda line: None).run(Event())
    assert done.told == {"load-profile": 1}
    assert rows_of(live) == wanted
    raised = [(*key, version + (key == [meter, start])) for *key, version in before]
    assert versions(live) == raised


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ({"meters": ("nobody",)}, "no reading is of a meter nobody"),
        ({"since": START + 99 * 24 * HOUR}, "no reading lies in that span"),
        ({"into": "public"}, "public holds the live tables"),
        (
            {"into": "fresh", "meters": ("haus-*",)},
            "fresh was built by a replay with other rules or another span",
        ),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused(
    live: Settings, spark: SparkSession, plan: dict[str, Any], sentence: str
) -> None:
    asked = Plan(**plan)
    with pytest.raises(StromError, match=sentence):
        (Into if asked.into else InPlace)(live, spark, asked, lambda line: None).run(Event())


def test_the_topic_gives_what_the_lake_gives(live: Settings, spark: SparkSession, day: list[Arrived]) -> None:
    meter = day[0].meter
    producer = open_producer(live, "test")
    for each in day:
        if each.meter == meter:
            headers: list[tuple[str, str | bytes | None]] = [(HEADER_ORIGIN, each.origin)]
            producer.produce(READINGS, json.dumps(each.reading), meter, 0, headers=headers)
    assert producer.flush(60) == 0
    into(live, spark, "by_topic", source="topic", meters=(meter,))
    own = {table: [row for row in rows if meter in row] for table, rows in rows_of(live).items()}
    assert rows_of(live, "by_topic") == own


def test_a_changed_rule_is_replayed_and_swapped_in_and_no_reading_is_lost_or_doubled(
    live: Settings, spark: SparkSession, day: list[Arrived]
) -> None:
    """The last one, for it changes the tables."""
    changed = live.model_copy(update={"rules": RuleSettings(exact_seconds=30)})
    reads = Reads(live.postgres_url)
    measured = _measured(reads, day)
    into(changed, spark, "stricter")
    rest, half = day[-MEANWHILE:], MEANWHILE // 2
    go_on(live, spark, rest[:half], 100)
    with pytest.raises(StromError, match="readings came since stricter was built"):
        swap(changed, "stricter")
    assert into(changed, spark, "stricter").readings == half
    done = swap(changed, "stricter")
    assert done.changed > 0
    go_on(changed, spark, rest[half - 20 :], 101)  # what comes once more after a restart is left out
    assert _measured(reads, day) < measured
    reads.close()
    into(changed, spark, "afresh")
    built, wanted = rows_of(changed, "afresh"), rows_of(changed)
    for table in TABLES:
        assert built[table] == wanted[table], table
    assert spark.read.format("delta").load(f"{live.lake_root}/readings").count() == len(day)


def _measured(reads: Reads, day: list[Arrived]) -> int:
    """How many quarter-hours of the day are measured, as the API would tell."""
    span = (moment(START), moment(START + 24 * HOUR))
    rows = [row for meter in {each.meter for each in day} for row in reads.quarter_hours(*span, meter)]
    return sum(row["quality"] == "measured" for row in rows)
