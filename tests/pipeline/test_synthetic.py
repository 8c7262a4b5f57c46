"""The benchmark's messages must be what adapters send, or its figures would be about something else."""

import json
from itertools import pairwise

from pyspark.sql import SparkSession

from strom.devices.adapter_json import decode
from strom.domain.acceptance import is_normal
from strom.domain.segments import Rules
from strom.pipeline.synthetic import INTERVAL_S, messages

START_S = 1_763_229_600
RULES = Rules(limit_w=43_470, noise_mwh=10_000, exact_ms=60_000, linear_ms=7_200_000)


def test_every_meter_sends_plain_readings_whose_counters_grow_normally(spark: SparkSession) -> None:
    made = messages(spark, 60, 20, START_S).collect()
    assert {row.key.decode() for row in made} == {f"meter-{number:06d}" for number in range(20)}
    by_meter: dict[str, list[dict[str, object]]] = {}
    for row in made:
        headers = {header.key: bytes(header.value).decode() for header in row.headers}
        reading = decode(bytes(row.value), received_ms=int(headers["strom-received"]))
        assert "flags" not in reading, reading
        assert reading["meter"] == row.key.decode()
        by_meter.setdefault(str(reading["meter"]), []).append(reading)
    for own in by_meter.values():
        assert [reading["at"] for reading in own] == [
            f"2025-11-15T18:00:{second:02d}Z" for second in range(0, 3 * INTERVAL_S, INTERVAL_S)
        ]
        points = [
            (index * INTERVAL_S * 1000, int(str(reading["import_wh"])) * 1000)
            for index, reading in enumerate(own)
        ]
        assert all(is_normal(a, b, RULES) for a, b in pairwise(points))


def test_only_the_active_meters_send(spark: SparkSession) -> None:
    made = messages(spark, 30, 1000, START_S, first=2, active=10).collect()
    names = [json.loads(bytes(row.value))["name"] for row in made]
    assert set(names) == {f"meter-{number:06d}" for number in range(10)}
