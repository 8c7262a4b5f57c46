"""Runs the page's server until it is told to stop; open pages do not hold it up."""

import asyncio
import errno
import http.client
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from strom.errors import StromError
from strom.serve.app import API, make_app
from strom.serve.assets import Assets
from strom.serve.service import Service
from strom.settings import Settings

_GRACE_SECONDS = 3
_READY_PAUSE = 0.05


def serve(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called when a real request has been answered."""
    service, assets = Service(settings), Assets()
    listener = _listen(settings.page.host, settings.page.port)
    config = uvicorn.Config(
        make_app(service, assets),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )
    with listener:
        asyncio.run(_run(_Server(config, service), listener, on_ready))


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn's own handling would end the process with an error code."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        yield

    def stop(self) -> None:
        self._service.hub.close()
        self.should_exit = True


async def _run(server: _Server, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    serving = asyncio.create_task(server.serve([listener]))
    announcing = asyncio.create_task(_announce(server, listener, on_ready))
    await serving
    announcing.cancel()
    await asyncio.gather(announcing, return_exceptions=True)


async def _announce(server: _Server, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(_READY_PAUSE)
    host, port = listener.getsockname()[:2]
    if await asyncio.to_thread(_answers, {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port):
        on_ready()


def _answers(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request("GET", f"{API}/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            why = f"Port {port} on {host} is in use"
        else:
            why = f"The page cannot listen on {host}:{port} ({error})"
        raise StromError(f"{why}; choose another one with --port or page.port.") from None
