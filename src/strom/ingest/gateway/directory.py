"""Which topics there are and how many partitions each has, as Kafka last said; and whether Kafka answers at all.

It asks for all topics at once, never for one by its name: some brokers create what is asked for.
"""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Mapping

from strom.errors import StromError
from strom.ingest.gateway.answers import Problem, kafka_away
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.settings import Settings
from strom.streams.admin import admin_client
from strom.streams.offsets import all_topics

LOG = logging.getLogger("strom.gateway")

REFRESH_SECONDS = 10.0  # what was deleted or got more partitions is known so much later
RETRY_SECONDS = 1.0  # while Kafka is away
LOOK_SECONDS = 0.2  # between two looks for topics that are not there
_ANSWER_SECONDS = 3.0
_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Directory:
    def __init__(self, settings: Settings, counters: Counters, threads: DaemonThreads) -> None:
        self._settings = settings
        self._threads = threads
        self._counters = counters
        self._client = admin_client(settings)
        self._topics: dict[str, int] = {}
        self._asked_at = 0.0
        self._known_at = 0.0  # when the question was asked that was answered last
        self._asking: asyncio.Task[None] | None = None
        self._doubted = asyncio.Event()
        self.connected = False
        self._told = False  # that it is lost, since it last was there

    async def refresh(self) -> None:
        """Ask Kafka, and wait until it is time to ask it again."""
        await self.ask()
        pause = REFRESH_SECONDS if self.connected else RETRY_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._doubted.wait()
        self._doubted.clear()

    def doubt(self) -> None:
        """Something did not come back from Kafka: ask it now whether it is there."""
        self._doubted.set()

    def known(self, topic: str) -> int | None:
        """Partitions of a topic, without asking."""
        return self._topics.get(topic)

    async def partitions(self, topic: str, place: str = "") -> int:
        """Partitions of a topic; Problem 404 if there is none, 503 if Kafka cannot be asked."""
        if not self.connected:
            raise kafka_away()
        found = self._topics.get(topic)
        if found is None:
            await self._look_again(topic)
            found = self._topics.get(topic)
        if found is None:
            if not self.connected:
                raise kafka_away()
            raise Problem(
                404,
                f"{place}There is no topic {topic[:249]}; `strom topics create` makes one, /topics lists them.",
            )
        return found

    async def all(self) -> dict[str, int]:
        """Every topic, asked anew."""
        await self.ask()
        if not self.connected:
            raise kafka_away()
        return self._topics

    @property
    def counts(self) -> Mapping[str, int]:
        """Partitions by topic, as last known."""
        return self._topics

    async def _look_again(self, topic: str) -> None:
        """It may have been made just now; but callers that insist must not keep Kafka busy."""
        if _LEGAL.fullmatch(topic) is None:
            return
        came = time.monotonic()
        await asyncio.sleep(max(0.0, self._asked_at + LOOK_SECONDS - came))
        while self._known_at < came:  # a question that was under way may have been too early
            await self.ask()

    async def ask(self) -> None:
        """One question at a time; who comes meanwhile waits for the same answer."""
        if self._asking is None:
            self._asked_at = time.monotonic()
            self._asking = asyncio.create_task(self._ask_kafka())
        await asyncio.shield(self._asking)

    async def _ask_kafka(self) -> None:
        asked_at = self._asked_at
        try:
            self._topics = await self._threads.run(
                "the list of topics", lambda: all_topics(self._settings, self._client, _ANSWER_SECONDS)
            )
            self._tell(connected=True, why="")
        except StromError as error:
            self._tell(connected=False, why=str(error))
        finally:
            self._asking, self._known_at = None, asked_at

    def _tell(self, *, connected: bool, why: str) -> None:
        if connected and not self.connected:
            LOG.info("Kafka answers at %s: %d topics", self._settings.kafka_bootstrap, len(self._topics))
        elif not connected and not self._told:
            LOG.warning("%s", why)
        self._told = not connected
        self.connected = connected
        self._counters.kafka_connected = int(connected)


def require_partition(place: str, topic: str, partition: int, counts: Mapping[str, int]) -> None:
    """Refuse a partition that its topic does not have; `place` is where in the body it is asked for."""
    count = counts.get(topic, 0)
    if partition >= count:
        raise Problem(400, f"{place}partition {partition} is not there: {topic} has {count}, counted from 0.")
