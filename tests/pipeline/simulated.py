"""A day of simulated meters with every fault, as it arrives: late, out of order, twice and by two doors."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from strom.devices.adapter_json import decode
from strom.devices.simulator import FaultKind, Fleet
from strom.domain.reading import NUMBER_FIELDS, Rejected, epoch_ms, time_text
from tests.pipeline.batches import frame_of, moment

START = 1_767_225_600_000  # 2026-01-01T00:00Z
HOUR = 3_600_000


@dataclass(frozen=True)
class Arrived:
    """A reading as it stands in the topic, and its place in the raw topic."""

    reading: dict[str, Any]
    origin: str = ""

    @property
    def received(self) -> int:
        return epoch_ms(self.reading["received"])

    @property
    def meter(self) -> str:
        return str(self.reading["meter"])


def simulated_day(meters: int, hours: int, topic: str, seed: int = 3) -> list[Arrived]:
    """In order of arrival. One meter counts by tariff."""
    chance = random.Random(seed)
    fleet = Fleet(meters, seed=seed, faults=FaultKind, faults_from_ms=START + HOUR)
    arrived = [
        each
        for push in fleet.readings(START, START + hours * HOUR, 60)
        for each in _arrivals(chance, push.payload, push.topic, push.publish_ms)
    ]
    arrived.sort(key=lambda each: each.received)
    counting = min(each.meter for each in arrived if "import_wh" in each.reading)
    arrived = [_by_tariff(each) if each.meter == counting else each for each in arrived]
    return [replace(each, origin=f"{topic}/0/{offset}") for offset, each in enumerate(arrived)]


def _by_tariff(each: Arrived) -> Arrived:
    """Tariff 1 counts what the total counts, with all its faults; tariff 2 only in the first half of each hour."""
    if "import_wh" not in each.reading:
        return each
    hours, rest = divmod(epoch_ms(each.reading["at"]) - START, HOUR)
    night = hours * 500 + min(rest, HOUR // 2) // 3600
    return replace(
        each, reading=each.reading | {"import_t1_wh": each.reading["import_wh"], "import_t2_wh": night}
    )


def _arrivals(chance: random.Random, payload: bytes, topic: str, sent_ms: int) -> Iterator[Arrived]:
    """Once, soon; or late by seconds or hours; or a second time by the other door; or never."""
    delay = chance.choice([120] * 40 + [95_000, 2 * HOUR])
    doors = [("mqtt", delay)] + [("rest", delay + 1_500)] * (chance.random() < 0.03)
    for source, later in [] if chance.random() < 0.01 else doors:
        try:
            yield Arrived(decode(payload, received_ms=sent_ms + later, source=source, topic=topic))
        except Rejected:
            return


def day_batch(spark: SparkSession, readings: list[Arrived]) -> DataFrame:
    return frame_of(spark, [_row(offset, each) for offset, each in enumerate(readings)])


def _row(offset: int, each: Arrived) -> tuple[Any, ...]:
    found = each.reading
    other = json.dumps(found["other"]) if "other" in found else None
    at, received = _moment(found["at"]), _moment(found["received"])
    numbers = (Decimal(str(found[name])) if name in found else None for name in NUMBER_FIELDS)
    return (
        each.meter, at, received, found["source"], found["clock"], *numbers, found.get("meter_number"), other,
        found.get("flags"), json.dumps(found), each.origin, each.received, 0, offset, received,
    )  # fmt: skip


def _moment(text: str) -> datetime:
    return moment(epoch_ms(text))


def text(at_ms: int) -> str:
    return time_text(at_ms)
