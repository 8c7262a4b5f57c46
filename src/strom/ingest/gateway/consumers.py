"""The consumers of all users: made by the first request, one request at a time each, closed when nobody asks any more."""

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from strom.ingest.gateway.answers import RETRY_LATER, ClientGone, Problem, overloaded
from strom.ingest.gateway.consumer_closer import ConsumerCloser
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads, Stuck
from strom.ingest.gateway.instance import Choices, Instance
from strom.ingest.gateway.places import Place
from strom.settings import Settings
from strom.streams.record import Record

LOG = logging.getLogger("strom.gateway")

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OWN_GROUPS = "strom-"
Result = TypeVar("Result")


class Key(NamedTuple):
    """Users do not see each other's consumers, also where they share a group."""

    user: str
    group: str
    instance: str

    def check(self) -> None:
        for what, name in (("group", self.group), ("instance", self.instance)):
            if _NAME.fullmatch(name) is None:
                raise Problem(
                    400, f"The {what} must be up to 249 letters, digits and . _ -, not {name[:40]!r}."
                )
        if self.group.startswith(_OWN_GROUPS):
            raise Problem(403, f"Groups that begin with {_OWN_GROUPS} are Strom's own; choose another name.")


class _Held:
    def __init__(self) -> None:
        self.instance: Instance | None = None  # until the first request has made it
        self.used_at = time.monotonic()
        self.busy = False


class Consumers:
    def __init__(
        self,
        settings: Settings,
        threads: DaemonThreads,
        closer: ConsumerCloser,
        counters: Counters,
        stopping: threading.Event,
    ) -> None:
        self._settings = settings
        self._threads = threads
        self._closer = closer
        self._counters = counters
        self._stopping = stopping
        self._held: dict[Key, _Held] = {}

    async def read(
        self, key: Key, topic: str, choices: Choices, timeout_ms: int, is_gone: Callable[[], bool]
    ) -> list[Record]:
        held = self._held.get(key) or self._make(key)
        if held.instance is not None and not held.instance.agrees(choices):
            raise Problem(
                400,
                f"{key.group}/{key.instance} began with Kafka-Auto-Offset-Reset {held.instance.reset} and "
                f"Kafka-Enable-Auto-Commit {str(held.instance.auto_commit).lower()}; delete it first to change them.",
            )

        def work() -> tuple[Instance, list[Record]]:
            instance = held.instance or Instance(self._settings, key.group, choices)
            held.instance = instance
            return instance, instance.read(topic, timeout_ms, lambda: is_gone() or self._stopping.is_set())

        instance, records = await self._alone(key, held, "a read", work, timeout_ms / 1000)
        if is_gone():
            instance.keep(records)
            raise ClientGone
        instance.handed_out(records)
        return records

    async def commit(self, key: Key, places: list[Place]) -> None:
        held, instance = self._existing(key)
        await self._alone(key, held, "a commit", lambda: instance.commit(places))

    async def delete(self, key: Key) -> None:
        held, _ = self._existing(key)
        _refuse_busy(key, held)
        if not await self._close(key, held):
            raise Problem(
                503,
                f"{key.group}/{key.instance} has not closed within {self._closer.seconds:.0f} s and is given up; "
                "Kafka may not have its last commit.",
                retry_after=RETRY_LATER,
            )

    async def all_of(self, user: str) -> list[dict[str, Any]]:
        """By group; partitions are those that Kafka has given to the instance by now."""
        own = {key: held.instance for key, held in self._held.items() if key.user == user and held.instance}
        groups: dict[str, list[dict[str, Any]]] = {}
        for key, instance in own.items():
            partitions = await self._threads.run("a look at a consumer", instance.partitions)
            if partitions is None:
                continue
            topics = [{"topic": instance.topic, "partitions": partitions}] if instance.topic else []
            groups.setdefault(key.group, []).append({"name": key.instance, "topics": topics})
        return [{"name": group, "instances": instances} for group, instances in groups.items()]

    def topic_of(self, key: Key) -> str | None:
        held = self._held.get(key)
        return held.instance.topic if held is not None and held.instance is not None else None

    async def close_idle(self) -> None:
        """Those that nobody has asked for long enough."""
        oldest = time.monotonic() - self._settings.gateway.consumer_idle_seconds
        idle = [(key, held) for key, held in self._held.items() if not held.busy and held.used_at < oldest]
        for key, _ in idle:
            LOG.info("closing the consumer %s/%s of %s: idle", key.group, key.instance, key.user)
        await self._close_all(idle)

    async def close(self) -> None:
        await self._close_all([*self._held.items()])

    async def _close_all(self, those: Iterable[tuple[Key, _Held]]) -> None:
        await asyncio.gather(*(self._close(key, held) for key, held in those))

    async def _close(self, key: Key, held: _Held) -> bool:
        """Whether it has closed in time; if not it is given up."""
        held.busy = True
        try:
            return held.instance is None or await self._closer.close(_name_of(key), held.instance.close)
        finally:
            self._forget(key)

    def _make(self, key: Key) -> _Held:
        key.check()
        if len(self._held) >= self._settings.gateway.consumers:
            raise overloaded(
                f"There are {len(self._held)} consumers (gateway.consumers); delete one or wait until one is idle"
            )
        held = self._held[key] = _Held()
        self._counters.consumers = len(self._held)
        return held

    def _forget(self, key: Key) -> None:
        self._held.pop(key, None)
        self._counters.consumers = len(self._held)

    def _existing(self, key: Key) -> tuple[_Held, Instance]:
        key.check()
        held = self._held.get(key)
        if held is None or held.instance is None:
            raise Problem(404, f"There is no consumer {key.group}/{key.instance}; /consume begins one.")
        return held, held.instance

    async def _alone(
        self,
        key: Key,
        held: _Held,
        what: str,
        work: Callable[[], Result],
        waiting: float = 0.0,
    ) -> Result:
        _refuse_busy(key, held)
        held.busy = True
        try:
            return await self._threads.run(f"{what} of {_name_of(key)}", work, waiting)
        except Stuck:
            if held.instance is not None:
                self._closer.close_later(_name_of(key), held.instance.close)
            self._forget(key)
            raise
        finally:
            held.busy = False
            held.used_at = time.monotonic()
            if held.instance is None:
                self._forget(key)


def _refuse_busy(key: Key, held: _Held) -> None:
    if held.busy:
        raise overloaded(f"Another request is using {key.group}/{key.instance}")


def _name_of(key: Key) -> str:
    return f"the consumer {key.group}/{key.instance} of {key.user}"
