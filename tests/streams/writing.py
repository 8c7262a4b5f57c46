"""Puts records into topics for tests that read them, and runs the command line as a user does."""

import os
import subprocess
import sys

from strom.settings import Settings
from strom.streams.admin import create_topics, new_topic, topic_names
from strom.streams.producer import open_producer
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST

SECONDS = 60


def topic_of(settings: Settings, name: str, partitions: int = 2, config: dict[str, str] | None = None) -> str:
    """A new topic that can be written to."""
    wanted = new_topic(name, partitions=partitions, replication=1, compacted=False, retention_hours=1)
    wanted.config = {**(wanted.config or {}), **(config or {})}
    create_topics(settings, [wanted])
    while name not in topic_names(settings):
        pass
    return name


def write(settings: Settings, topic: str, *values: bytes, partition: int = 0, at_ms: int = 0) -> None:
    producer = open_producer(settings, "strom-test")
    for number, value in enumerate(values):
        producer.produce(
            topic,
            value,
            f"k{number}",
            partition,
            timestamp=at_ms + number,
            headers=[("strom-source", b"test")],
        )
    assert producer.flush(SECONDS) == 0


def lying_in(settings: Settings, topic: str) -> list[Record]:
    """All records as they lie, partition after partition."""
    with Records(settings, [topic], start=EARLIEST, until_end=True) as records:
        return sorted(records, key=lambda record: (record.partition, record.offset))


def strom(settings: Settings, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """`strom …` with these settings, and this on its standard input."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    return subprocess.run(
        [sys.executable, "-m", "strom", *arguments],
        env=environment | settings.as_environment() | {"COLUMNS": "200"},
        input=given or "",
        capture_output=True,
        text=True,
        timeout=SECONDS * 2,
        check=False,
    )
