"""How long a message takes from the raw topic to `readings`, at a steady rate, in both modes of the same query."""

import time
from collections.abc import Callable

from strom.demo.taps import TopicTap
from strom.errors import StromError
from strom.pipeline.bench.lab import Lab
from strom.settings import Settings
from strom.streams import topics
from strom.streams.producer import open_producer

_WARM_UP_S, _WARM_UPS = 5, 12  # each time, until it is hardly better than the time before, or patience ends
_ARRIVAL_S = 60.0
_METERS = 100


def p99_by_mode(
    lab: Lab, settings: Settings, rate: int, seconds: int, report: Callable[[str], None]
) -> tuple[int, int]:
    """In real-time mode and in micro-batches, in ms."""

    def measured(*, realtime: bool) -> int:
        mode = "in real-time mode" if realtime else "in micro-batches"
        tap = TopicTap(settings)
        with lab.normalising(realtime=realtime):
            tap.open()
            try:
                _warm_up(tap, settings, rate, lambda ms: report(f"{mode}, to warm up: p99 {ms:,} ms"))
                return _p99(tap, settings, rate, seconds)
            finally:
                tap.close()

    return measured(realtime=True), measured(realtime=False)


def _warm_up(tap: TopicTap, settings: Settings, rate: int, report: Callable[[int], None]) -> None:
    """Until the code is generated and compiled."""
    before = None
    for _ in range(_WARM_UPS):
        now = _p99(tap, settings, rate, _WARM_UP_S)
        report(now)
        if before is not None and now > 0.8 * before:
            break
        before = now


def _p99(tap: TopicTap, settings: Settings, rate: int, seconds: int) -> int:
    _measure(tap, settings, rate, seconds)
    return tap.latencies.quantile(0.99) or 0


def _measure(tap: TopicTap, settings: Settings, rate: int, seconds: int) -> None:
    tap.latencies.values.clear()
    tap.latencies.since_ms = _now_ms()
    sent = _send(settings, rate, seconds)
    _await(lambda: len(tap.latencies.values) >= sent)
    if len(tap.latencies.values) < sent:
        raise StromError(
            f"only {len(tap.latencies.values):,} of {sent:,} messages came through in time.", exit_code=1
        )


def _send(settings: Settings, rate: int, seconds: int) -> int:
    """Messages at a steady rate, each with the time it was sent at; returns how many."""
    producer = open_producer(settings, "bench", **{"linger.ms": 0})
    began = time.monotonic()
    count = rate * seconds
    for number in range(count):
        pause = began + number / rate - time.monotonic()
        if pause > 0:
            producer.poll(0)
            time.sleep(pause)
        meter, now = f"latency-{number % _METERS}", _now_ms()
        entry = f'{{"value":{number},"time":{now // 1000}}}'
        producer.produce(
            topics.RAW,
            f'{{"name":"{meter}","1-0:1.8.0":{entry},"1-0:1.7.0":{entry}}}',
            meter,
            headers=[
                (topics.HEADER_SOURCE, b"mqtt"),
                (topics.HEADER_RECEIVED, str(now).encode()),
                (topics.HEADER_PUBLISHED, str(now).encode()),
            ],
        )
    producer.flush(_ARRIVAL_S)
    return count


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _ARRIVAL_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
