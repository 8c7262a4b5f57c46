"""Reads records at given places without a group: a few consumers that are lent out for one request each."""

import threading
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, TopicPartition

from strom.ingest.gateway.answers import overloaded
from strom.ingest.gateway.committed import Offsets
from strom.ingest.gateway.consumer_closer import ConsumerCloser
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.places import Place
from strom.ingest.gateway.reading import consumer_config, problem_of, require_answer, take
from strom.settings import Settings
from strom.streams.client import error_of
from strom.streams.record import Record

AT_ONCE = 8
_GROUP = "strom-gateway-without-group"
_WHAT = "a consumer of /fetch"


class Fetchers:
    def __init__(
        self,
        settings: Settings,
        offsets: Offsets,
        threads: DaemonThreads,
        closer: ConsumerCloser,
        stopping: threading.Event,
    ) -> None:
        self._settings = settings
        self._offsets = offsets
        self._threads = threads
        self._closer = closer
        self._stopping = stopping
        self._idle: list[Consumer] = []  # taken and given back by threads
        self._is_closing = False
        self._lent = 0

    async def fetch(
        self, places: list[Place], most: int, timeout_ms: int, is_over: Callable[[], bool]
    ) -> list[Record]:
        if self._lent >= AT_ONCE:
            raise overloaded(f"{AT_ONCE} fetches are under way")
        self._lent += 1
        try:
            return await self._threads.run(
                "a fetch",
                lambda: self._read(places, most, timeout_ms, is_over),
                timeout_ms / 1000,
            )
        finally:
            self._lent -= 1

    def close(self) -> None:
        """Begin to close those that are not lent out; each of the others as soon as it is given back."""
        self._is_closing = True
        while (consumer := self._idle_one()) is not None:
            self._closer.close_later(_WHAT, consumer.close)

    def _read(
        self, places: list[Place], most: int, timeout_ms: int, is_over: Callable[[], bool]
    ) -> list[Record]:
        self._offsets.require_within(places)
        consumer = self._idle_one() or self._open()
        is_usable = False
        try:
            consumer.assign([TopicPartition(each.topic, each.partition, each.offset) for each in places])
            records = take(consumer, most, timeout_ms, lambda: is_over() or self._stopping.is_set())
            if not records:
                require_answer(consumer, places[0].topic)
            consumer.unassign()
            is_usable = True
            return records
        except KafkaException as error:
            raise problem_of(error_of(error)) from None
        finally:
            self._give_back(consumer, is_usable=is_usable)

    def _idle_one(self) -> Consumer | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _give_back(self, consumer: Consumer, *, is_usable: bool) -> None:
        if not is_usable:
            self._closer.close_later(_WHAT, consumer.close)
            return
        self._idle.append(consumer)
        if self._is_closing:
            self.close()

    def _open(self) -> Consumer:
        return Consumer(
            consumer_config(
                self._settings, _GROUP, **{"enable.auto.commit": False, "auto.offset.reset": "error"}
            )
        )
