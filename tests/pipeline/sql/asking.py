"""Puts readings into the topic as `normalise` writes them, and asks in SQL, for the tests of both ways of asking."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from strom.domain.master_data import entry
from strom.domain.reading import time_text
from strom.pipeline.sql.live import LiveQuery, Wish
from strom.pipeline.sql.result import fetched
from strom.pipeline.sql.sources import Live, Sources
from strom.pipeline.sql.views import Views
from strom.settings import Settings
from strom.store.master_data import save_entries
from strom.store.writes import Writer
from strom.streams import topics
from strom.streams.producer import open_producer
from strom.streams.records import Records
from strom.streams.start import EARLIEST, Kind, Start
from tests import waiting
from tests.pipeline.batches import START, Sent

until = partial(waiting.until, seconds=240.0)

MINUTE = 60_000


def now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def send(settings: Settings, readings: Sequence[Sent], topic: str = topics.READINGS) -> None:
    producer = open_producer(settings, "strom-test")
    for each in readings:
        value = {"v": 1, "meter": each.meter, "at": time_text(each.at), "received": time_text(each.received)}
        body = json.dumps(value | {"source": "mqtt", "clock": "meter"} | each.numbers)
        producer.produce(topic, body, each.meter, headers=[(topics.HEADER_ORIGIN, each.origin.encode())])
    assert producer.flush(60) == 0


def ask(spark: SparkSession, settings: Settings, text: str) -> list[dict[str, Any]]:
    """What `strom sql --json` prints."""
    frame = Views(settings, Sources(spark.newSession(), settings)).query(text)
    return [json.loads(row) for row in fetched(frame, None)]


def since(epoch_ms: int, late_ms: int = 10 * MINUTE) -> Live:
    """What is in the topics from this moment on: the shared ones hold what other tests wrote, too."""
    return Live(Start(Kind.TIME, epoch_ms), late_ms)


def from_now() -> str:
    """The same as an option in the head of a query."""
    return f"-- from: {time_text(now_ms())}"


class Listening:
    """A live query whose rows are kept here."""

    def __init__(self, spark: SparkSession, settings: Settings, wish: Wish, folder: Path) -> None:
        self.rows: list[dict[str, Any]] = []
        live = LiveQuery(spark, settings, wish)
        self.mode = live.mode
        self.query = live.start_here(self._take, str(folder))

    def _take(self, rows: Sequence[str]) -> None:
        self.rows += [json.loads(row) for row in rows]

    def __enter__(self) -> "Listening":
        return self

    def __exit__(self, *_: object) -> None:
        self.query.stop()

    def await_rows(self, done: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        until(lambda: self.query.exception() is not None or done(self.rows))
        assert self.query.exception() is None, self.query.exception()
        return self.rows


def set_area(settings: Settings, meter: str, area: str) -> None:
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        save_entries(work, [entry(meter, {"area": area})])


def values_in(settings: Settings, topic: str) -> list[tuple[str | None, dict[str, Any]]]:
    """Key and value of everything that the topic holds now."""
    with Records(settings, [topic], start=EARLIEST, until_end=True) as found:
        return [
            (None if each.key is None else each.key.decode(), json.loads(each.value or b"")) for each in found
        ]


def at_minute(meter: str, minute: float, offset: int, **numbers: float) -> Sent:
    at = START + round(minute * MINUTE)
    return Sent(meter, at, numbers, received=at + 200, offset=offset, topic=f"raw-of-{meter}")
