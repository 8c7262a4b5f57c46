"""Any process may die at any moment: nothing is lost, nothing is counted twice."""

import json
import threading

import pytest
from pyspark.sql import SparkSession

from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Timeline
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from tests.e2e.by_the_rules import expected_rows, stored_rows
from tests.e2e.way import await_taken_in, outcomes, records, until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

HOUR_MS = 3_600_000
FIRST_MS = 1_763_229_600_000  # 2025-11-15T18:00:00Z


def test_killed_bridge_pipeline_and_broker_lose_and_double_nothing(whole: Stack, spark: SparkSession) -> None:
    settings = whole.settings
    before = {record.value for record in records(settings, topics.RAW)}
    publisher = Publisher(
        Fleet(12, seed=77),
        settings,
        Timeline(start_ms=FIRST_MS, until_ms=FIRST_MS + 2 * HOUR_MS, history_interval_s=30.0),
        rate=60.0,
    )
    sender = threading.Thread(target=publisher.run, args=(threading.Event(),), daemon=True)
    sender.start()
    for part, share in (("bridge", 200), ("pipeline", 500), ("kafka", 900)):
        until(lambda share=share: publisher.progress.published >= share, f"{share} published")  # type: ignore[misc]
        gone = whole.kill(part)
        whole.await_ready(part, other_than=gone)
    sender.join()
    assert publisher.progress.finished

    until(lambda: _all_arrived(settings), "an outcome of every raw record")
    await_taken_in(settings)

    raw = [record.value for record in records(settings, topics.RAW)]
    assert len(set(raw) - before) == publisher.progress.published  # every payload is one of its kind
    readings = {
        origin: json.loads(outcome.value)
        for origin, outcome in outcomes(settings).items()
        if outcome.topic == topics.READINGS
    }
    lake = spark.read.format("delta").load(f"{settings.lake_root}/readings").select("origin").collect()
    assert sorted(row.origin for row in lake) == sorted(readings)
    assert stored_rows(settings) == expected_rows(settings, list(readings.values()))


def _all_arrived(settings: Settings) -> bool:
    return len(outcomes(settings)) == len(records(settings, topics.RAW))
