"""What the gateway knows of topics: a caller who comes while Kafka is being asked hears of a topic that is new."""

import asyncio
import time

import pytest

from strom.ingest.gateway import directory as module
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.directory import Directory
from strom.settings import Settings


def test_whoever_comes_while_kafka_is_asked_waits_for_an_answer_to_a_later_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made_at = time.monotonic() + 0.1

    def slow_answer(*_: object) -> dict[str, int]:
        found = {"new": 1} if time.monotonic() >= made_at else {}
        time.sleep(0.3)  # what it says is older than when it is heard
        return found

    monkeypatch.setattr(module, "all_topics", slow_answer)

    async def run() -> list[int]:
        counters = Counters()
        directory = Directory(Settings(), counters, DaemonThreads(1, counters))
        first = asyncio.create_task(directory.ask())  # before the topic is there
        await asyncio.sleep(0.15)
        directory.connected = True
        found = await asyncio.gather(*(directory.partitions("new") for _ in range(3)))
        await first
        return found

    assert asyncio.run(run()) == [1, 1, 1]
