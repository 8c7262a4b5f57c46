"""What comes twice, by two doors or hours late gives one result; what comes too late is set aside and counted."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.pipeline.replay.in_place import InPlace
from strom.pipeline.replay.plan import Plan
from strom.pipeline.store_job import StoreJob
from strom.settings import PipelineSettings, PostgresSettings, Settings
from tests.pipeline.batches import START, Sent, batch, moment, numbered, reading, take
from tests.streams.writing import strom

pytestmark = pytest.mark.stack
MINUTE = 60_000
DAY_MS = 86_400_000
SHOWN = ("load_profile", "slot_statistics", "gaps", "alerts", "meters", "readings_latest")


@pytest.fixture
def make(
    stack: Settings, spark: SparkSession, tmp_path: Path, unique: Callable[[str], str]
) -> Iterator[Callable[[], tuple[Settings, StoreJob]]]:
    """Tables and a lake of their own, as often as asked for."""
    names: list[str] = []
    jobs: list[StoreJob] = []

    def made() -> tuple[Settings, StoreJob]:
        names.append(unique("late").replace("-", "_"))
        with psycopg.connect(stack.postgres_url, autocommit=True) as server:
            server.execute(f"CREATE DATABASE {names[-1]}".encode())
        places = {
            "postgres": PostgresSettings(url=stack.postgres_url.rsplit("/", 1)[0] + f"/{names[-1]}"),
            "pipeline": PipelineSettings(lake=str(tmp_path / names[-1]), late_days=10),
        }
        settings = stack.model_copy(update=places)
        jobs.append(StoreJob(settings, spark))
        return settings, jobs[-1]

    yield made
    for job in jobs:
        job.close()
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        for name in names:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def tables(settings: Settings) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(settings.postgres_url, options="-c timezone=UTC") as connection:
        queries = {name: f"SELECT * FROM {name}" for name in SHOWN}  # noqa: S608
        return {
            name: sorted(connection.execute(query.encode()).fetchall(), key=repr)
            for name, query in queries.items()
        }


def hour(count: int = 40) -> list[Sent]:
    return [
        replace(
            reading(at=START + n * MINUTE, import_wh=n * 10, import_w=600, voltage_l1_v=230 + n),
            meter_number=f"N{n // 20}",
        )
        for n in range(count)
    ]


def test_a_reading_by_two_doors_late_and_shuffled_counts_once(
    make: Callable[[], tuple[Settings, StoreJob]], spark: SparkSession
) -> None:
    once = hour()
    plain_settings, plain = make()
    last = once[-1].received
    # The other door brings each a second later, the last one first; a few come hours later, old numbers included.
    by_rest = [replace(each, received=each.received + 1_000) for each in reversed(once)]
    hours_late = [replace(each, received=last + 3 * 60 * MINUTE + n) for n, each in enumerate(once[3:6])]
    arrivals = {each.received for each in (*once, *by_rest, *hours_late)}
    take(plain, batch(spark, numbered([*once, *by_rest, *hours_late])), 0)
    settings, job = make()
    sent = numbered([*once[:25], *by_rest[10:20], *once[25:], *by_rest[:10], *by_rest[20:], *hours_late])
    for number, first in enumerate(range(0, len(sent), 30)):
        take(job, batch(spark, sent[first : first + 30]), number)
    found, wanted = tables(settings), tables(plain_settings)
    versions = (
        [row[:7] + row[8:] for row in found["load_profile"]],
        [row[:7] + row[8:] for row in wanted["load_profile"]],
    )
    assert versions[0] == versions[1]
    assert {name: found[name] for name in SHOWN[1:]} == {name: wanted[name] for name in SHOWN[1:]}
    assert len(arrivals) > len(once)
    (meter,) = found["meters"]
    assert meter[1] == "N1"


def test_what_is_too_late_is_set_aside_once_kept_in_the_lake_and_changes_nothing_else(
    make: Callable[[], tuple[Settings, StoreJob]], spark: SparkSession
) -> None:
    settings, job = make()
    sent = numbered(hour())
    take(job, batch(spark, sent), 0)
    before = tables(settings)
    old = reading(at=START + 5 * MINUTE + 1, import_wh=50.5, voltage_l1_v=900)
    limit = 10 * DAY_MS
    too_late = numbered(
        [replace(old, received=old.at + limit + 1), replace(old, received=old.at + limit + 2)], len(sent)
    )
    for number in (1, 1, 2):
        take(job, batch(spark, too_late), number)
    assert tables(settings) == before
    with psycopg.connect(settings.postgres_url, options="-c timezone=UTC") as connection:
        kept = connection.execute(
            "SELECT meter, at, received, origin FROM late_readings ORDER BY origin"
        ).fetchall()
    assert kept == [("m1", moment(each.at), moment(each.received), each.origin) for each in too_late]
    lake = spark.read.format("delta").load(f"{settings.lake_root}/readings")
    assert lake.count() == len(sent) + 2
    # A timely late reading in the same place is judged without them.
    timely = numbered([replace(old, received=old.at + limit)], len(sent) + 2)
    take(job, batch(spark, timely), 3)
    slot = next(row for row in tables(settings)["load_profile"] if row[1] == moment(START))
    assert (slot[5], slot[7]) == (16, 2)
    counted = strom(settings, "pipeline", "late")
    assert counted.stdout.splitlines()[-1] == "2 readings came too late and were set aside"
    assert '"import_wh": 50.5' in strom(settings, "pipeline", "late", "--meter", "m1").stdout


def test_a_replay_under_a_higher_limit_takes_back_what_is_timely_now_and_leaves_the_rest_aside(
    make: Callable[[], tuple[Settings, StoreJob]], spark: SparkSession
) -> None:
    settings, job = make()

    def late(meter: str, minute: float, days: int) -> Sent:
        found = reading(meter, START + round(minute * MINUTE), import_wh=minute * 10)
        return replace(found, received=found.at + days * DAY_MS + 1)

    taken = [late("m1", 5.5, 11), late("m1", 6.5, 19)]
    left = [late("m1", 7.5, 20), late("m1", 35.5, 11), late("m2", 5.5, 11)]
    in_lake = numbered([*hour(), *taken, *left])
    take(job, batch(spark, in_lake), 0)
    gone = replace(late("m1", 8.5, 11), offset=len(in_lake))  # its day is no more in the lake
    with psycopg.connect(settings.postgres_url) as connection:
        connection.execute(
            "INSERT INTO late_readings VALUES ('m1', %s, %s, %s, '{}')",
            (moment(gone.at), moment(gone.received), gone.origin),
        )
    assert slot_samples(settings) == 15
    raised = settings.model_copy(update={"pipeline": settings.pipeline.model_copy(update={"late_days": 20})})
    InPlace(raised, spark, Plan(until=START + 30 * MINUTE, meters=("m1",)), print).run(Event())
    assert slot_samples(settings) == 17
    assert set_aside(settings) == sorted(each.origin for each in (*in_lake[-len(left) :], gone))


def slot_samples(settings: Settings) -> int:
    """Of the first quarter-hour."""
    return next(int(row[5]) for row in tables(settings)["load_profile"] if row[:2] == ("m1", moment(START)))


def set_aside(settings: Settings) -> list[str]:
    with psycopg.connect(settings.postgres_url) as connection:
        rows = connection.execute("SELECT origin FROM late_readings ORDER BY origin")
        return [origin for (origin,) in rows.fetchall()]


def test_the_number_of_a_meter_is_the_one_that_its_newest_reading_tells(
    make: Callable[[], tuple[Settings, StoreJob]], spark: SparkSession
) -> None:
    settings, job = make()
    swapped = numbered(
        [replace(reading(at=START + n * MINUTE, import_wh=n), meter_number="new") for n in (5, 6)]
    )
    late = numbered([replace(reading(at=START + MINUTE, import_wh=1), meter_number="old")], 2)
    take(job, batch(spark, swapped), 0)
    take(job, batch(spark, late), 1)
    assert [row[1] for row in tables(settings)["meters"]] == ["new"]
