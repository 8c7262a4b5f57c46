"""Any process may die at any moment: nothing is lost, nothing is counted twice."""

import json
import threading
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Timeline
from strom.domain.load_profile import Direction, Half, Row, Sample, evaluate, profile
from strom.domain.reading import epoch_ms
from strom.pipeline.limits import rules_of
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.schema import connect
from strom.streams import topics
from tests.e2e.way import await_taken_in, await_true, outcomes, records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

HOUR_MS = 3_600_000
FIRST_MS = 1_763_229_600_000  # 2025-11-15T18:00:00Z
Rows = dict[tuple[str, int], tuple[Decimal | None, Decimal | None, str]]


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
        await_true(lambda share=share: publisher.progress.published >= share, f"{share} published")  # type: ignore[misc]
        gone = whole.kill(part)
        whole.await_ready(part, other_than=gone)
    sender.join()
    assert publisher.progress.finished

    await_true(lambda: _all_arrived(settings), "an outcome of every raw record")
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


def stored_rows(settings: Settings) -> Rows:
    query = "SELECT meter, extract(epoch FROM start), import_wh, export_wh, quality FROM load_profile"
    with connect(settings.postgres_url) as connection:
        return {
            (row[0], int(row[1]) * 1000): (row[2], row[3], row[4])
            for row in connection.execute(query).fetchall()
        }


def expected_rows(settings: Settings, readings: list[dict[str, Any]]) -> Rows:
    """The quarter-hours as the pure function gives them, from the set of readings."""
    by_meter: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for reading in readings:
        by_meter[reading["meter"]].append(reading)
    rules = rules_of(settings.rules)
    found: Rows = {}
    for meter, own in by_meter.items():
        chains = {way: evaluate([_sample(reading, way) for reading in own], rules) for way in Direction}
        found |= {(meter, row.start): _plain(row) for row in profile(chains)}
    return found


def _sample(reading: dict[str, Any], way: Direction) -> Sample:
    def milli(field: str) -> int | None:
        return round(Decimal(str(reading[field])) * 1000) if field in reading else None

    return Sample(epoch_ms(reading["at"]), milli(f"{way.value}_wh"), milli(f"{way.value}_w"))


def _plain(row: Row) -> tuple[Decimal | None, Decimal | None, str]:
    def watt_hours(half: Half | None) -> Decimal | None:
        return None if half is None or half.mwh is None else Decimal(half.mwh).scaleb(-3)

    return watt_hours(row.imported), watt_hours(row.exported), str(row.quality)
