"""What the gateway shows to anybody: whether it is well, what it has counted, and how it is used."""

from collections.abc import Sequence
from typing import Any

from strom.ingest.gateway.answers import Answer, as_json
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.daemon_threads import DaemonThreads
from strom.ingest.gateway.directory import Directory
from strom.ingest.gateway.openapi import description
from strom.metrics import Metrics

_PROMETHEUS = b"text/plain; version=1.0.0; charset=utf-8"


class ShownCalls:
    def __init__(
        self,
        metrics: Metrics,
        counters: Counters,
        directory: Directory,
        background: Background,
        threads: Sequence[DaemonThreads],
    ) -> None:
        self._metrics = metrics
        self._counters = counters
        self._threads = threads
        self._directory = directory
        self._background = background
        self._description = as_json(description())

    async def health(self, _: Call) -> Answer:
        connected, failing = self._directory.connected, self._background.failing
        well = connected and not failing and not any(each.is_exhausted for each in self._threads)
        found: dict[str, Any] = {
            "status": "ok" if well else "degraded",
            "kafka": "connected" if connected else "lost",
        }
        if failing:
            found["failing"] = failing
        if hanging := self._counters.calls_given_up:
            found["calls_given_up"] = hanging
        return as_json(found)

    async def metrics(self, _: Call) -> Answer:
        text = self._metrics.text()
        headers = [(b"content-type", _PROMETHEUS), (b"content-length", b"%d" % len(text))]
        return Answer(200, text, headers)

    async def openapi(self, _: Call) -> Answer:
        return self._description
