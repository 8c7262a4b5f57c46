"""Puts dead letters into their topic as `normalise` does, and tells what became of them."""

import json

from strom.settings import Settings
from strom.streams import topics
from strom.streams.producer import open_producer
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.streams.writing import SECONDS, strom

NOON_MS = 1_794_740_400_000  # 2026-11-15T11:00:00Z, noon in Vienna


def bury(
    settings: Settings,
    origin: int | None,  # the offset of the raw record, where the letter tells it
    *,
    reason: str = "no-known-register",
    key: bytes | None = None,
    value: bytes = b"{}",
    at_ms: int = NOON_MS,
    topic: str = "sma",
    partition: int = 0,
) -> None:
    headers = {
        "strom-source": "mqtt",
        "strom-received": str(at_ms),
        "strom-topic": topic,
        "strom-reason": reason,
        "strom-detail": "why",
    } | ({} if origin is None else {"strom-origin": f"sma-kafka/0/{origin}"})
    producer = open_producer(settings, "strom-test")
    pairs: list[tuple[str, str | bytes | None]] = list(headers.items())
    producer.produce(topics.DEAD_LETTER, value, key, partition=partition, headers=pairs)
    assert producer.flush(SECONDS) == 0


def listed(settings: Settings, *flags: str) -> list[dict[str, object]]:
    done = strom(settings, "dead-letters", "list", "--json", *flags)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def raw(settings: Settings) -> list[Record]:
    with Records(settings, [topics.RAW], start=EARLIEST, until_end=True) as records:
        return list(records)
