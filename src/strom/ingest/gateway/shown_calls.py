"""What the gateway shows to anybody: whether it is well, what it has counted, and how it is used."""

from collections.abc import Callable

from strom.ingest.gateway.answers import Answer, as_json
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.openapi import description
from strom.metrics import Metrics

_PROMETHEUS = b"text/plain; version=1.0.0; charset=utf-8"
_WELL = as_json({"status": "ok", "kafka": "connected"})
_UNWELL = as_json({"status": "degraded", "kafka": "lost"})


class ShownCalls:
    def __init__(self, metrics: Metrics, is_connected: Callable[[], bool]) -> None:
        self._metrics = metrics
        self._is_connected = is_connected
        self._description = as_json(description())

    async def health(self, _: Call) -> Answer:
        return _WELL if self._is_connected() else _UNWELL

    async def metrics(self, _: Call) -> Answer:
        text = self._metrics.text()
        headers = [(b"content-type", _PROMETHEUS), (b"content-length", b"%d" % len(text))]
        return Answer(200, text, headers)

    async def openapi(self, _: Call) -> Answer:
        return self._description
