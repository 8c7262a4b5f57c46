"""The poller: asks any number of adapters, each at its own interval, and sends every new push to Kafka as it came."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import NoReturn

import uvloop

from strom.devices.adapter_json import DIALECT
from strom.errors import StromError
from strom.ingest.meter_key import meter_key
from strom.ingest.poll.adapters import asking, chosen
from strom.ingest.poll.counters import Carried
from strom.ingest.poll.hold import Hold
from strom.ingest.poll.rounds import Rounds
from strom.ingest.poll.times import Times
from strom.metrics import Metrics
from strom.open_files import allow_sockets
from strom.settings import AdapterSettings, Settings
from strom.streams import topics
from strom.supervision import supervised

LOG = logging.getLogger("strom.poll")
STOP_SECONDS = 10.0  # to bring over what is held when the poller is asked to stop
STARTS_PER_SECOND = 200  # adapters asked for the first time: each begins with a TLS handshake
_LOOKUPS = 64  # names looked up at once: a name server that is slow must not hold up the others
_GOLDEN = 0.618033988749895  # its multiples are spread evenly, however many there are

_DIALECT = (topics.HEADER_DIALECT, DIALECT.encode())


class Poller:
    """Runs in the calling thread until `stop`, which a signal handler or another thread may call."""

    def __init__(
        self, settings: Settings, ways: Collection[str], on_ready: Callable[[], None] = lambda: None
    ) -> None:
        self.counters = Carried()
        self.metrics = Metrics()
        self.rounds: list[Rounds] = []
        self._settings = settings
        self._on_ready = on_ready
        self._entries = chosen(settings, ways)
        self.counters.adapters = len(self._entries)
        self.metrics.watch("poll", self.counters)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """Ask until told to stop, then bring over what is held."""
        poll = self._settings.poll
        with (
            self.metrics.served(poll.metrics_port, poll.metrics_host, "poll.metrics_port"),
            # Its TLS takes 45 kB a connection, asyncio's own 300.
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(self._run())
        LOG.info("poller stopped: %s", self.counters)

    def stop(self) -> None:
        """Ask `run` to end."""
        with contextlib.suppress(RuntimeError):  # it has ended
            if self._loop is None:
                self._stopping.set()
            else:
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def _run(self) -> None:
        allow_sockets(len(self._entries))
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(_LOOKUPS, "lookup"))
        hold = Hold(self._settings, self.counters, self._on_ready)
        tasks: list[asyncio.Task[object]] = []
        try:
            stopped = asyncio.create_task(self._stopping.wait())
            carrying = asyncio.create_task(hold.carry())
            tasks += [stopped, carrying, *self._begin(hold)]
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if carrying in ended:
                _give_up(carrying.exception())
        finally:
            await _end(tasks)
            await _drain(hold)
            hold.close()

    def _begin(self, hold: Hold) -> list[asyncio.Task[object]]:
        count = len(self._entries)
        kafka = self._settings.kafka_bootstrap
        LOG.info("asking %d adapter%s, to %s at %s", count, "s" * (count != 1), topics.RAW, kafka)
        tasks: list[asyncio.Task[object]] = []
        for number, (entry, adapter) in enumerate(self._entries.items()):
            rounds = self._rounds(entry, adapter, hold)
            self.rounds.append(rounds)
            place = number * _GOLDEN % 1.0
            first = place * len(self._entries) / STARTS_PER_SECOND
            work = self._rounds_from(rounds, first, place * adapter.interval_seconds)
            # A fault of ours with one adapter must not keep the others from being asked.
            task = supervised(f"asking {entry}", work, LOG, self.counters.count_restart)
            tasks.append(asyncio.create_task(task))
        return tasks

    def _rounds_from(self, rounds: Rounds, first: float, phase: float) -> Callable[[], Awaitable[None]]:
        """The rounds; begun again they need not be spread any more."""
        firsts = chain([first], repeat(0.0))
        return lambda: rounds.run(next(firsts), phase)

    def _rounds(self, entry: str, adapter: AdapterSettings, hold: Hold) -> Rounds:
        source = (topics.HEADER_SOURCE, adapter.by.encode())
        # A box without a name is told by the entry's, as one that speaks MQTT is by the last level of its topic.
        place = (topics.HEADER_TOPIC, entry.encode())

        def deliver(payload: bytes) -> None:
            received = (topics.HEADER_RECEIVED, str(time.time_ns() // 1_000_000).encode())
            hold.put(payload, meter_key(payload, entry, ""), [source, _DIALECT, received, place])

        times = Times(adapter.interval_seconds, self._settings.poll.status_seconds)
        return Rounds(entry, asking(entry, adapter), times, self.metrics, deliver, hold.room)


def _give_up(error: BaseException | None) -> NoReturn:
    """What sends to Kafka holds its state in memory: a new process is sure to begin well."""
    LOG.error("sending to Kafka failed", exc_info=error)
    told = f"{type(error).__name__}: {error}"[:300]
    raise StromError(f"sending to Kafka failed ({told}); the poller ends, start it again.", exit_code=1)


async def _drain(hold: Hold) -> None:
    try:
        await hold.drain(STOP_SECONDS)
    except Exception:
        LOG.exception("%d pushes are lost: they could not be sent", hold.held)


async def _end(tasks: Collection[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
