"""Puts the gateway together and runs it until it is told to stop; what is under way then is finished."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable

from strom import serving
from strom.ingest.gateway.app import App
from strom.ingest.gateway.auth import Gatekeeper
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.committed import Offsets
from strom.ingest.gateway.consumer_closer import ConsumerCloser
from strom.ingest.gateway.consumers import Consumers
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.directory import Directory
from strom.ingest.gateway.fetching import AT_ONCE, Fetchers
from strom.ingest.gateway.intake import Intake
from strom.ingest.gateway.produce_calls import ProduceCalls
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.read_calls import ReadCalls
from strom.ingest.gateway.routes import Router, routes
from strom.ingest.gateway.runtime import collect_garbage_rarely, end_within, loop_factory
from strom.ingest.gateway.shown_calls import ShownCalls
from strom.ingest.gateway.users import Users
from strom.ingest.gateway.writers import Writers
from strom.metrics import Metrics
from strom.settings import Settings

LOG = logging.getLogger("strom.gateway")

_SPARE_THREADS = 4
_KEEP_ALIVE_SECONDS = 75  # a sender of one message a minute keeps its connection
_GRACE_SECONDS = 3  # beyond what Kafka may take
_HOUSEKEEPING_SECONDS = 1.0
# After SIGTERM, beyond what Kafka may take: requests, then consumers and writers, then the client library's own threads.
_STOP_SECONDS = 40.0


def stop_seconds(settings: Settings) -> float:
    """How long a gateway that was told to stop runs on at most."""
    return settings.gateway.send_seconds + _STOP_SECONDS


def site_of(settings: Settings) -> serving.Site:
    own = settings.gateway
    return serving.Site("The gateway", own.host, own.port, "gateway.port", "/health")


def run(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called when a real request has been answered."""
    collect_garbage_rarely()
    with (
        serving.listen(site_of(settings)) as listener,
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):

        async def main() -> None:
            gateway = Gateway(settings)

            def stop() -> None:
                if not gateway.stopping.is_set():
                    gateway.stopping.set()
                    end_within(stop_seconds(settings))

            async with gateway.running():
                await serving.run(
                    gateway.app,
                    site_of(settings),
                    listener,
                    on_ready,
                    on_stop=stop,
                    lifespan="off",
                    ws="none",
                    proxy_headers=False,  # nobody here asks where a call comes from
                    http="httptools",
                    timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                    timeout_graceful_shutdown=round(settings.gateway.send_seconds) + _GRACE_SECONDS,
                )

        runner.run(main())


class Gateway:
    def __init__(self, settings: Settings) -> None:
        own = settings.gateway
        self.stopping = threading.Event()
        self._counters = Counters()
        self._background = background = Background(self._counters)
        self._closer = ConsumerCloser(self._counters)
        threads = DaemonThreads(own.consumers + AT_ONCE + _SPARE_THREADS, self._counters)
        self._users = Users(settings)
        self._gatekeeper = Gatekeeper(self._users, self._counters)
        self._directory = Directory(settings, self._counters, threads)
        doubt = self._directory.doubt
        self._sender = Sender(settings, self._counters, background, doubt)
        self._writers = Writers(settings, self._counters, background, doubt)
        offsets = Offsets(settings)
        self._fetchers = Fetchers(settings, offsets, threads, self._closer, self.stopping)
        self._consumers = Consumers(settings, threads, self._closer, self._counters, self.stopping)
        read = ReadCalls(
            self._directory,
            self._fetchers,
            self._consumers,
            offsets,
            threads,
            self._counters,
            own.read_records,
        )
        metrics = Metrics()
        metrics.watch("gateway", self._counters)
        show = ShownCalls(
            metrics, self._counters, self._directory, background, [threads, self._sender.threads]
        )
        self.routes = routes(ProduceCalls(self._sender, self._writers, self._directory), read, show)
        self._intake = Intake(own, self._counters)
        self.app = App(Router(self.routes), self._gatekeeper, self._intake, self._counters)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look after itself for as long as the block lasts; then let go of Kafka, with all offsets committed."""
        await self._directory.ask()
        background = self._background
        background.repeat("topics", self._directory.refresh)
        background.repeat("idle consumers", self._close_idle_consumers)
        background.every(_HOUSEKEEPING_SECONDS, "late bodies", self._intake.give_up_late_ones)
        background.every(_HOUSEKEEPING_SECONDS, "users", self._users.refresh)
        background.every(_HOUSEKEEPING_SECONDS, "producers", self._sender.poll)
        try:
            yield
        finally:
            await background.stop()
            self._fetchers.close()
            ended = await asyncio.gather(
                self._consumers.close(),
                self._writers.close(),
                asyncio.to_thread(self._sender.close),
                return_exceptions=True,
            )
            await self._closer.finish()
            self._gatekeeper.close()
            for error in filter(None, ended):
                LOG.error("something of the gateway did not end as it should", exc_info=error)

    async def _close_idle_consumers(self) -> None:
        await asyncio.sleep(_HOUSEKEEPING_SECONDS)
        await self._consumers.close_idle()
