"""What the gateway shows to anybody: whether it is well, what it has counted, and how it is used."""

from collections.abc import Callable
from typing import Any

from strom.ingest.gateway.answers import Answer, as_json
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.openapi import description
from strom.metrics import Metrics

_PROMETHEUS = b"text/plain; version=1.0.0; charset=utf-8"


class ShownCalls:
    def __init__(self, metrics: Metrics, is_connected: Callable[[], bool], background: Background) -> None:
        self._metrics = metrics
        self._is_connected = is_connected
        self._background = background
        self._description = as_json(description())

    async def health(self, _: Call) -> Answer:
        connected, failing = self._is_connected(), self._background.failing
        found: dict[str, Any] = {
            "status": "ok" if connected and not failing else "degraded",
            "kafka": "connected" if connected else "lost",
        }
        return as_json(found | {"failing": failing} if failing else found)

    async def metrics(self, _: Call) -> Answer:
        text = self._metrics.text()
        headers = [(b"content-type", _PROMETHEUS), (b"content-length", b"%d" % len(text))]
        return Answer(200, text, headers)

    async def openapi(self, _: Call) -> Answer:
        return self._description
