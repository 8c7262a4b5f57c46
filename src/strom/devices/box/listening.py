"""One interface of a box: accepts connections as long as there are places, with or without TLS. It knows no protocol."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable

from strom.devices.box.connections import Connections
from strom.errors import StromError

HANDSHAKE_SECONDS = 10.0
CLOSE_SECONDS = 2.0
IDLE_SECONDS = 60.0  # a connection that asks nothing for so long is closed, for there are few
READ_BYTES = 8 * 1024  # of a line or head at most
_PAUSE_SECONDS = 0.1  # when the system has no socket left

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Interface:
    """`serve` is given each connection and has it for as long as it likes; `context` is asked for each anew."""

    def __init__(
        self,
        listener: socket.socket,
        connections: Connections,
        serve: Serve,
        context: Callable[[], ssl.SSLContext | None] = lambda: None,
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._serve = serve
        self._context = context
        self._open: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    async def run(self) -> None:
        """Until it is cancelled; then no connection is left open."""
        try:
            while True:
                await self._accept()
        finally:
            self._listener.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self) -> None:
        try:
            accepted, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError:
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        if not self._connections.take():
            accepted.close()
            return
        task = asyncio.create_task(self._have(accepted))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _have(self, accepted: socket.socket) -> None:
        try:
            await self._speak(accepted)
        except (OSError, EOFError):
            pass  # the other side is gone, speaks no TLS, or has been silent for too long
        finally:
            self._connections.give_back()

    async def _speak(self, accepted: socket.socket) -> None:
        loop, context = asyncio.get_running_loop(), self._context()
        reader = asyncio.StreamReader(limit=READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            accepted,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if context else None,
            ssl_shutdown_timeout=CLOSE_SECONDS if context else None,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self._serve(reader, writer)
        finally:
            await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    """What was sent goes out first; one that does not take it is not waited for."""
    writer.close()
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await writer.wait_closed()
    except OSError:
        writer.transport.abort()


def listen(host: str, port: int, flag: str) -> socket.socket:
    """A socket on this address; port 0 takes any free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        code = error.errno if isinstance(error, OSError) else None
        why = "there is no such port" if code is None else os.strerror(code)
        raise StromError(
            f"The adapter cannot listen on {host}:{port} ({why}); choose another {flag} or --host."
        ) from None
    listener.setblocking(False)
    return listener
