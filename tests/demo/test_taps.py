"""What the demo counts: this run's records, each once, though a restarted pipeline repeats old ones."""

import time

import pytest

from strom.demo.taps import Latencies, TopicTap, raw_ends
from strom.settings import Settings
from strom.streams import topics
from strom.streams.producer import open_producer

pytestmark = pytest.mark.stack
SECONDS = 60.0


def put(settings: Settings, topic: str, origin: str = "") -> None:
    producer = open_producer(settings, "strom-test")
    headers: list[tuple[str, str | bytes | None]] = [
        (topics.HEADER_ORIGIN, origin),
        (topics.HEADER_PUBLISHED, str(time.time_ns() // 1_000_000 - 5)),
    ]
    producer.produce(topic, b"x", partition=0, headers=headers)
    assert producer.flush(SECONDS) == 0


def test_a_second_run_counts_only_its_own_and_repeats_once(stack: Settings) -> None:
    put(stack, topics.RAW)
    first = raw_ends(stack)[0]
    tap = TopicTap(stack)
    tap.latencies.since_ms = 0
    tap.open()
    put(stack, topics.READINGS, f"sma-kafka/0/{first - 1}")  # what an earlier run had brought
    put(stack, topics.READINGS, "no origin")
    for topic in (topics.READINGS, topics.DEAD_LETTER):
        put(stack, topics.RAW)
        for _ in range(2):
            put(stack, topic, f"sma-kafka/0/{raw_ends(stack)[0] - 1}")
    deadline = time.monotonic() + SECONDS
    while tap.raw < 2 or not tap.readings or not tap.dead_letters:
        assert time.monotonic() < deadline, "the tap did not hear"
        time.sleep(0.05)
    tap.close()
    assert tap.failure is None
    assert (tap.raw, tap.readings) == (2, {f"sma-kafka/0/{first}"})
    assert tap.dead_letters == {f"sma-kafka/0/{first + 1}"}
    assert tap.last_reading_offsets() == {0: first}
    assert len(tap.latencies.values) == 1


def test_latencies_of_what_was_published_before_do_not_count() -> None:
    found = Latencies(since_ms=100)
    for published, arrived in (("99", 500), (100, 110), ("", 500), (None, 500), ("200", 230)):
        found.note(published, arrived)
    assert found.values == [10, 30]
    assert (found.quantile(0.5), found.quantile(0.99)) == (30, 30)
    assert Latencies().quantile(0.5) is None
