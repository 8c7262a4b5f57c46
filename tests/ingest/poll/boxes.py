"""Small servers on real sockets that answer just as a test says, right or wrong."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from strom.devices.box.certificate import Certificate, certificate_in
from strom.settings import AdapterSettings

Found = TypeVar("Found")
SECONDS = 30.0

HANG = b"(hang)"  # says nothing, for ever
CUT = b"(cut)"  # closes the connection


def certificate_of(folder: Path, *, expired: bool = False) -> Certificate:
    return certificate_in(folder, "box", "127.0.0.1", expired=expired)


def play(scene: Coroutine[Any, Any, Found], seconds: float = SECONDS) -> Found:
    """Run one test's coroutine on the poller's kind of loop; one that hangs fails."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(scene, seconds))


async def until(ask: Callable[[], object]) -> None:
    """Wait for what must become true; `play` ends what never does."""
    while not ask():
        await asyncio.sleep(0.01)


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]


def http(body: bytes = b"{}", status: int = 200, *headers: str) -> bytes:
    """An answer that keeps the connection open."""
    lines = [f"HTTP/1.1 {status} whatever", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Box:
    """What came in, and how to get there."""

    port: int = 0
    host: str = "127.0.0.1"
    requests: list[Any] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most_open: int = 0
    at_once: int = 0
    most_at_once: int = 0

    def settings(self, **more: object) -> AdapterSettings:
        given = {"by": "rest", "address": f"{self.host}:{self.port}", "timeout_seconds": 10} | more
        return AdapterSettings.model_validate(given)


Respond = Callable[[Request], bytes | Awaitable[bytes]]
Frames = Callable[[bytes], bytes | Awaitable[bytes]]


@contextlib.asynccontextmanager
async def https_box(
    respond: Respond, context: ssl.SSLContext | None, host: str = "127.0.0.1"
) -> AsyncIterator[Box]:
    """A server that answers each request with the bytes that `respond` gives, then waits for the next."""
    box = Box(host=host)

    def take(head: bytes) -> bytes | Awaitable[bytes]:
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, value in (each.split(":", 1) for each in lines)}
        request = Request(first.split()[1], headers)
        box.requests.append(request)
        return respond(request)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _converse(box, lambda: reader.readuntil(b"\r\n\r\n"), take, writer)

    async with _listening(box, serve, context):
        yield box


@contextlib.asynccontextmanager
async def modbus_box(respond: Frames) -> AsyncIterator[Box]:
    """A server that answers each Modbus request (12 bytes) with what `respond` makes of it."""
    box = Box()

    def take(frame: bytes) -> bytes | Awaitable[bytes]:
        box.requests.append(struct.unpack(">HH", frame[8:]))
        return respond(frame)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _converse(box, lambda: reader.readexactly(12), take, writer)

    async with _listening(box, serve, None):
        yield box


async def _converse(
    box: Box,
    read: Callable[[], Awaitable[bytes]],
    take: Callable[[bytes], bytes | Awaitable[bytes]],
    writer: asyncio.StreamWriter,
) -> None:
    """Answer one request after the other, and notice one that comes before the last is answered."""

    async def hear() -> bytes:
        heard = await read()
        box.at_once += 1
        box.most_at_once = max(box.most_at_once, box.at_once)
        return heard

    hearing = asyncio.create_task(hear())
    try:
        while True:
            answer = take(await hearing)
            hearing = asyncio.create_task(hear())
            content = answer if isinstance(answer, bytes) else await answer
            box.at_once -= 1
            if not await _say(writer, content):
                return
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)


async def _say(writer: asyncio.StreamWriter, content: bytes) -> bool:
    """Whether the connection goes on."""
    if content == HANG:
        await asyncio.Event().wait()
    said = content.removesuffix(CUT)
    writer.write(said)
    await writer.drain()
    return said == content


@contextlib.asynccontextmanager
async def _listening(
    box: Box,
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: ssl.SSLContext | None,
) -> AsyncIterator[None]:
    tasks: set[asyncio.Task[Any]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        box.connections += 1
        box.open += 1
        box.most_open = max(box.most_open, box.open)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            box.open -= 1
            tasks.discard(task)
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(accept, box.host, 0, ssl=context)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
