"""Runs an ASGI application on a socket of its own until it is told to stop; what it serves is not its concern."""

import asyncio
import errno
import http.client
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from strom.errors import StromError

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_READY_PAUSE = 0.05
_BACKLOG = 2048


@dataclass(frozen=True)
class Site:
    """Where it listens, how sentences call it, and an address that answers as soon as all is well."""

    label: str
    host: str
    port: int
    setting: str
    health: str

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


def listen(site: Site) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
        return socket.create_server((site.host, site.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            why = f"Port {site.port} on {site.host} is in use"
        else:
            why = f"{site.label} cannot listen on {site.host}:{site.port} ({error})"
        raise StromError(f"{why}; choose another one with --port or {site.setting}.") from None


async def run(
    app: Any,
    site: Site,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None] = lambda: None,
    **options: Any,
) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called when a real request has been answered."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, **options)
    server = _Server(config, on_stop)
    serving = asyncio.create_task(server.serve([listener]))
    announcing = asyncio.create_task(_announce(server, site, on_ready))
    await serving
    announcing.cancel()
    await asyncio.gather(announcing, return_exceptions=True)


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn's own handling would end the process with an error code."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        yield

    def stop(self) -> None:
        self._on_stop()
        self.should_exit = True


async def _announce(server: _Server, site: Site, on_ready: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(_READY_PAUSE)
    if await asyncio.to_thread(_answers, site):
        on_ready()


def _answers(site: Site) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(site.host, site.host)
    connection = http.client.HTTPConnection(host, site.port, timeout=10)
    try:
        connection.request("GET", site.health)
        return connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()
