"""The calls that read: at a place, by a consumer of a group, and what there is to read."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from strom.ingest.gateway.answers import Answer, ClientGone, Problem, as_json
from strom.ingest.gateway.bodies import LATEST_TIME_MS, read_json
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.committed import EARLIEST, LATEST, Offsets
from strom.ingest.gateway.consumers import Consumers, Key
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.directory import Directory, require_partition
from strom.ingest.gateway.fetching import Fetchers
from strom.ingest.gateway.instance import RESETS, Choices
from strom.ingest.gateway.places import USUAL_TIMEOUT_MS, Place, read_places, read_timeout
from strom.ingest.gateway.reading import records_answer

AUTO_RESET, AUTO_COMMIT = b"kafka-auto-offset-reset", b"kafka-enable-auto-commit"
_DONE = {"result": "Success", "status": 200}


class ReadCalls:
    def __init__(
        self,
        directory: Directory,
        fetchers: Fetchers,
        consumers: Consumers,
        offsets: Offsets,
        threads: DaemonThreads,
        counters: Counters,
        most: int,
    ) -> None:
        self._directory = directory
        self._fetchers = fetchers
        self._consumers = consumers
        self._offsets = offsets
        self._threads = threads
        self._counters = counters
        self._most = most

    async def fetch(self, call: Call) -> Answer:
        """`GET|POST /fetch`"""
        found = await _json(call)
        timeout_ms = read_timeout(found)
        places = read_places(found, offsets=True, timeout=True)
        await self._require(call, places)
        async with _watched(call) as is_gone:
            records = await self._fetchers.fetch(places, self._most, timeout_ms, is_gone)
            if is_gone():
                raise ClientGone
        self._counters.read += len(records)
        return records_answer(records)

    async def consume(self, call: Call) -> Answer:
        """`GET|POST /consume/{group}/{instance}/{topic}`"""
        key, topic = _key(call), call.segment(3)
        key.check()
        choices = _choices(call)
        found = await _json(call, optional=True)
        timeout_ms = USUAL_TIMEOUT_MS if found is None else read_timeout(found, alone=True)
        call.user.require(topic)
        await self._directory.partitions(topic)
        async with _watched(call) as is_gone:
            records = await self._consumers.read(key, topic, choices, timeout_ms, is_gone)
        self._counters.read += len(records)
        return records_answer(records)

    async def commit(self, call: Call) -> Answer:
        """`GET|POST /commit/{group}/{instance}`"""
        found = await _json(call, optional=True)
        places = [] if found is None else read_places(found, offsets=True)
        await self._require(call, places)
        await self._consumers.commit(_key(call), places)
        return as_json(_DONE)

    async def committed(self, call: Call) -> Answer:
        """`GET|POST /committed/{group}/{instance}`: of the places named, or of the topic that the instance reads."""
        key = _key(call)
        key.check()
        found = await _json(call, optional=True)
        places = await self._own_places(key) if found is None else read_places(found, offsets=False)
        await self._require(call, places)
        answered = await self._threads.run(
            "a look at committed offsets", lambda: self._offsets.committed(key.group, places)
        )
        return _offsets_answer(places, answered)

    async def offsets(self, call: Call) -> Answer:
        """`GET|POST /offsets/{timestamp|earliest|latest}`"""
        moment = _moment(call.segment(1))
        places = read_places(await _json(call), offsets=False)
        await self._require(call, places)
        found = await self._threads.run("a look at offsets", lambda: self._offsets.at(moment, places))
        return _offsets_answer(places, found)

    async def delete_consumer(self, call: Call) -> Answer:
        """`POST|DELETE /delete-consumer/{group}/{instance}`"""
        call.query()
        await self._consumers.delete(_key(call))
        return as_json(_DONE)

    async def topics(self, call: Call) -> Answer:
        """`GET /topics`: those that the user may use."""
        call.query()
        found = await self._directory.all()
        return as_json({name: count for name, count in found.items() if call.user.sees(name)})

    async def consumers(self, call: Call) -> Answer:
        """`GET /consumers`: the user's own."""
        call.query()
        return as_json(await self._consumers.all_of(call.user.name))

    async def _own_places(self, key: Key) -> list[Place]:
        topic = self._consumers.topic_of(key)
        if topic is None:
            raise Problem(
                404, f"There is no consumer {key.group}/{key.instance}; name topic and partition in the body."
            )
        return [Place("", topic, number) for number in range(await self._directory.partitions(topic))]

    async def _require(self, call: Call, places: Sequence[Place]) -> None:
        for place in places:
            call.user.require(place.topic, place.said)
            await self._directory.partitions(place.topic, place.said)
        for place in places:
            require_partition(place.said, place.topic, place.partition, self._directory.counts)


async def _json(call: Call, *, optional: bool = False) -> Any:
    call.query()
    body = await call.body()
    if optional and not body:
        return None
    call.require_json()
    return read_json(body)


def _key(call: Call) -> Key:
    return Key(call.user.name, call.segment(1), call.segment(2))


def _choices(call: Call) -> Choices:
    reset, commit = (_header(call, name) for name in (AUTO_RESET, AUTO_COMMIT))
    if reset is not None and reset not in RESETS:
        raise Problem(400, f"Kafka-Auto-Offset-Reset is {reset[:40]!r}; it can be {', '.join(RESETS)}.")
    if commit is not None and commit not in ("true", "false"):
        raise Problem(400, f"Kafka-Enable-Auto-Commit is {commit[:40]!r}; it can be true or false.")
    return Choices(reset, None if commit is None else commit == "true")


def _header(call: Call, name: bytes) -> str | None:
    found = call.headers.get(name)
    return None if found is None else found.decode("latin-1").strip().lower()


def _moment(text: str) -> str | int:
    if text in (EARLIEST, LATEST):
        return text
    if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= LATEST_TIME_MS:
        return int(text)
    raise Problem(400, f"{text[:40]!r} is neither earliest, latest nor a time in epoch milliseconds.")


def _offsets_answer(places: Sequence[Place], found: dict[tuple[str, int], Any]) -> Answer:
    return as_json(
        [
            {"topic": each.topic, "partition": each.partition, "offset": found[each.topic, each.partition]}
            for each in places
        ]
    )


@asynccontextmanager
async def _watched(call: Call) -> AsyncIterator[Callable[[], bool]]:
    """While the block lasts: whether the caller has hung up."""
    watch = asyncio.create_task(_hung_up(call))
    try:
        yield watch.done
    finally:
        watch.cancel()


async def _hung_up(call: Call) -> None:
    while (await call.receive())["type"] != "http.disconnect":
        continue
