"""Runs the passes over a lake on whatever cluster the settings name, and tells how long the executors were at work for it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from strom.pipeline.bench import frames
from strom.pipeline.cluster import await_slots
from strom.pipeline.lake.archive import Archive
from strom.pipeline.quiet import quiet_session
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings

SLOT_S = 900
COMMITS = 6  # of a quarter-hour


@dataclass(frozen=True, slots=True)
class Load:
    """Readings of so many quarter-hours; each meter sends one every `interval_s`."""

    meters: int
    quarters: int
    interval_s: int
    start_s: int  # where a quarter-hour begins

    @property
    def of_a_quarter(self) -> int:
        return self.meters * SLOT_S // self.interval_s

    @property
    def readings(self) -> int:
        return self.quarters * self.of_a_quarter

    def end_ms(self, quarter: int) -> int:
        return (self.start_s + (quarter + 1) * SLOT_S) * 1000


@dataclass(frozen=True, slots=True)
class PassesTook:
    """Seconds. `on_executors`: in which at least one task was at work; what is left of `wall` is the driver's planning."""

    wall: float
    on_executors: float
    shards: float  # of these the part in which shards were at work: Python, Postgres, Kafka
    tasks: float  # all tasks one after the other


def fill_lake(settings: Settings, load: Load) -> None:
    """Put the readings into the lake, as a pipeline does it in several commits with one file each."""
    pushes = SLOT_S // load.interval_s
    share = max(1, pushes // COMMITS)
    with quiet_session(settings, "bench-lake") as spark:
        archive = Archive(spark, settings.lake_root)
        for first in range(0, load.quarters * pushes, share):
            start_s = load.start_s + first * load.interval_s
            readings = frames.lake_readings(spark, load.meters, share, start_s, load.interval_s, first)
            archive.append(readings, load.meters * share, [])


@contextmanager
def open_passes(settings: Settings, workers: int) -> Iterator["PassesOnLake"]:
    """A session on the cluster of the settings, when so many task slots are there."""
    with quiet_session(settings, f"bench-workers-{workers}") as spark:
        await_slots(spark, settings, workers, threading.Event().wait)
        yield PassesOnLake(settings, spark)


class PassesOnLake:
    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self._settings = settings
        self._spark = spark
        spark.sparkContext.setLogLevel("OFF")

    def run(self, schema: str, load: Load) -> PassesTook:
        """All readings into new tables: one pass over what arrived, then quarter-hour by quarter-hour what is settled."""
        job = StoreJob(self._settings.with_schema(schema), self._spark, passes=False)
        try:
            before = {each.key for each in _stages(self._spark)}
            began = time.monotonic()
            for quarter in range(load.quarters):
                job.settle(load.end_ms(quarter))
            wall = time.monotonic() - began
        finally:
            job.close()
        stages = [each for each in _stages(self._spark) if each.key not in before]
        shards = [each for each in stages if each.is_shards]
        return PassesTook(wall, covered(stages), covered(shards), sum(each.run_s for each in stages))


@dataclass(frozen=True, slots=True)
class Stage:
    """As Spark's status store has it; times in seconds."""

    key: tuple[int, int]
    name: str
    began: float
    ended: float
    run_s: float  # of all its tasks

    @property
    def is_shards(self) -> bool:
        return "shards.py" in self.name


def _stages(spark: SparkSession) -> list[Stage]:
    """Those of which a task has begun, and all have ended."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    gateway = context._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    each = (found.apply(place) for place in range(found.size()))
    return [
        Stage(
            (stage.stageId(), stage.attemptId()),
            stage.name(),
            stage.firstTaskLaunchedTime().get().getTime() / 1000,
            stage.completionTime().get().getTime() / 1000,
            stage.executorRunTime() / 1000,
        )
        for stage in each
        if stage.firstTaskLaunchedTime().isDefined() and stage.completionTime().isDefined()
    ]


def covered(stages: list[Stage]) -> float:
    """Seconds in which at least one of them was at work."""
    total, until = 0.0, 0.0
    for stage in sorted(stages, key=lambda each: each.began):
        total += max(0.0, stage.ended - max(stage.began, until))
        until = max(until, stage.ended)
    return total
