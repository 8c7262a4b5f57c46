"""What the measure of two workers rests on: time is counted once, a worker has one core, each meter sends as told."""

import os
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.bench.ground import free_block
from strom.bench.workers import keep_to_a_core
from strom.pipeline.bench.frames import lake_readings
from strom.pipeline.bench.on_executors import Load, Stage, covered
from strom.pipeline.lake.archive import COLUMNS

START_S = 1_763_229_600


def stage(began: float, ended: float) -> Stage:
    return Stage((0, 0), "", began, ended, ended - began)


def test_seconds_in_which_several_stages_are_at_work_count_once() -> None:
    assert covered([]) == 0
    assert covered([stage(5, 6), stage(1, 3), stage(2, 4), stage(2.5, 3)]) == 4
    assert covered([stage(1, 2), stage(2, 3)]) == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system keeps no process to a core")
def test_a_process_and_what_it_starts_is_kept_to_one_core() -> None:
    starts_another = (
        "import subprocess, sys; sys.stdin.readline();"
        "subprocess.run([sys.executable, '-c', 'import os; print(len(os.sched_getaffinity(0)))'], check=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starts_another], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        keep_to_a_core(process.pid, 1)
        assert process.communicate("go\n")[0] == "1\n"


def test_a_block_of_ports_is_free() -> None:
    assert 0 < free_block(3) < 65_534


@pytest.mark.stack
def test_the_lake_gets_what_the_load_tells(spark: SparkSession) -> None:
    load = Load(meters=4, quarters=2, interval_s=90, start_s=START_S)
    assert (load.of_a_quarter, load.readings, load.end_ms(1)) == (40, 80, (START_S + 1800) * 1000)
    made = lake_readings(spark, 4, 5, START_S + 450, 90, 5)
    assert made.columns == list(COLUMNS)
    rows = (
        made.orderBy("meter", "at")
        .select("meter", F.unix_millis("at").alias("t"), "import_wh", "origin")
        .collect()
    )
    assert len({row.origin for row in rows}) == len(rows) == 20
    own = [row for row in rows if row.meter == "meter-000001"]
    assert [row.t for row in own] == [(START_S + 450 + 90 * push) * 1000 for push in range(5)]
    assert [row.import_wh for row in own] == sorted(row.import_wh for row in own)
