"""Reads records at given places without a group: a few consumers that are lent out for one request each."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor

from confluent_kafka import Consumer, KafkaException, TopicPartition

from strom.ingest.gateway.answers import Problem, overloaded
from strom.ingest.gateway.places import Place
from strom.ingest.gateway.reading import consumer_config, problem_of, require_answer, take
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.record import Record

AT_ONCE = 8
_GROUP = "strom-gateway-without-group"


class Fetchers:
    def __init__(self, settings: Settings, threads: Executor, stopping: threading.Event) -> None:
        self._settings = settings
        self._threads = threads
        self._stopping = stopping
        self._idle: list[Consumer] = []
        self._lent = 0

    async def fetch(
        self, places: list[Place], most: int, timeout_ms: int, is_over: Callable[[], bool]
    ) -> list[Record]:
        if self._lent >= AT_ONCE:
            raise overloaded(f"{AT_ONCE} fetches are under way")
        self._lent += 1
        idle = self._idle.pop() if self._idle else None
        try:
            loop = asyncio.get_running_loop()
            consumer, records = await loop.run_in_executor(
                self._threads, self._read, idle, places, most, timeout_ms, is_over
            )
            self._idle.append(consumer)
            return records
        finally:
            self._lent -= 1

    def close(self) -> None:
        for consumer in self._idle:
            consumer.close()

    def _read(
        self,
        consumer: Consumer | None,
        places: list[Place],
        most: int,
        timeout_ms: int,
        is_over: Callable[[], bool],
    ) -> tuple[Consumer, list[Record]]:
        consumer = consumer or self._open()
        try:
            consumer.assign([TopicPartition(each.topic, each.partition, each.offset) for each in places])
            records = take(consumer, most, timeout_ms, lambda: is_over() or self._stopping.is_set())
            if not records:
                require_answer(consumer, places[0].topic)
            consumer.unassign()
        except KafkaException as error:
            consumer.close()
            raise problem_of(error_of(error)) from None
        except Problem:
            consumer.close()
            raise
        return consumer, records

    def _open(self) -> Consumer:
        return Consumer(
            consumer_config(
                self._settings, _GROUP, **{"enable.auto.commit": False, "auto.offset.reset": "error"}
            )
        )
