"""Raw records as the bridge would have written them, the same for the same seed: their arrival is simulated too."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from strom.devices.simulator import Fleet, parse_kinds
from strom.domain.dialects import ADAPTER_JSON
from strom.ingest.meter_key import meter_key
from strom.settings import Settings
from strom.streams import topics
from strom.streams.chunks import Part
from strom.streams.producer import open_producer

HOUR_MS = 3_600_000
FIRST_MS = 1_763_229_600_000  # 2025-11-15T18:00:00Z
ARRIVAL_MS = 300  # after it was sent
LATE_SHARE = 0.05


@dataclass(frozen=True)
class Raw:
    """A message and when it arrived."""

    topic: str
    payload: bytes
    received_ms: int
    dialect: str = ADAPTER_JSON
    part: Part | None = None  # of a message that is too large


def arrivals(meters: int, hours: float, seed: int, interval_s: float = 60.0) -> list[Raw]:
    """Meters with every fault there is; one message in twenty comes up to an hour late, and some come twice."""
    fleet = Fleet(meters, seed=seed, faults=parse_kinds("all"), faults_from_ms=FIRST_MS)
    sent = list(fleet.readings(FIRST_MS, FIRST_MS + round(hours * HOUR_MS), interval_s, history=True))
    chance = random.Random(seed)
    twice = sent + chance.sample(sent, len(sent) // 50)
    late = [Raw(push.topic, push.payload, push.publish_ms + ARRIVAL_MS + _delay_ms(chance)) for push in twice]
    return sorted(late, key=lambda raw: raw.received_ms)


def put_raw(settings: Settings, messages: Iterable[Raw]) -> None:
    """Write them to the raw topic, each confirmed by Kafka."""
    producer = open_producer(settings, "test-raw")
    refused: list[object] = []
    for raw in messages:
        headers: list[tuple[str, str | bytes | None]] = [
            (topics.HEADER_SOURCE, b"mqtt"),
            (topics.HEADER_DIALECT, raw.dialect.encode()),
            (topics.HEADER_RECEIVED, str(raw.received_ms).encode()),
            (topics.HEADER_TOPIC, raw.topic.encode()),
        ]
        if raw.part is not None:
            headers.append((topics.HEADER_PART, raw.part.header))
        key = meter_key(raw.payload, raw.topic, settings.mqtt.topic)
        producer.produce(
            topics.RAW, raw.payload, key, headers=headers, on_delivery=lambda error, _: refused.append(error)
        )
        producer.poll(0)
    assert producer.flush(60) == 0
    assert set(refused) <= {None}


def _delay_ms(chance: random.Random) -> int:
    return chance.randrange(HOUR_MS) if chance.random() < LATE_SHARE else 0
