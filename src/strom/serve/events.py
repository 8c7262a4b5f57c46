"""Server-sent events: one bounded queue a client, and the response that empties it.

A client that cannot keep up is dropped, so that it costs the others nothing; its browser comes back by
itself. It knows nothing of what the events mean.
"""

import asyncio
import itertools
import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

LOG = logging.getLogger("strom.page")

EVERY_METER = "*"
QUEUE_FRAMES = 256
HEARTBEAT_SECONDS = 15.0
RETRY_MS = 2000
_SEND_SECONDS = 20.0


class Client:
    """One open page: what it wants to hear and what waits to be sent to it."""

    def __init__(self, meters: Iterable[str] = ()) -> None:
        self.meters = frozenset(meters)
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE_FRAMES)
        self.dropped = False

    def wants(self, meter: str) -> bool:
        return meter in self.meters or EVERY_METER in self.meters

    def offer(self, frame: bytes) -> None:
        """Queue a frame; a full queue ends the client."""
        if self.dropped:
            return
        try:
            self.queue.put_nowait(frame)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """Let what is queued go and close the response."""
        self.dropped = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


class Hub:
    """All open pages."""

    def __init__(self) -> None:
        self.clients: set[Client] = set()
        self._looked_at: Counter[str] = Counter()  # meters by the number of clients that want to hear them
        self._ids = itertools.count(1)
        self.closed = False

    def frame(self, event: str, data: Mapping[str, Any]) -> bytes:
        """One event as it goes over the line."""
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return f"id: {next(self._ids)}\nevent: {event}\ndata: {text}\n\n".encode()

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """To every client."""
        self.send_all(event, [data])

    def send_all(self, event: str, several: Iterable[Mapping[str, Any]]) -> None:
        """Events of one name to every client; together they are one frame in a queue."""
        if self.clients and (frame := b"".join(self.frame(event, data) for data in several)):
            for client in self.clients:
                client.offer(frame)

    def send_readings(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Readings as (meter, event) to those who asked for the meter; one batch is one frame in a queue."""
        wanting = [client for client in self.clients if client.meters]
        if not wanting:
            return
        frames: dict[Client, list[bytes]] = {client: [] for client in wanting}
        for meter, data in events:
            takers = [client for client in wanting if client.wants(meter)]
            frame = self.frame("reading", data) if takers else b""
            for client in takers:
                frames[client].append(frame)
        for client, waiting in frames.items():
            if waiting:
                client.offer(b"".join(waiting))

    def wanted(self, meter: str) -> bool:
        return meter in self._looked_at or EVERY_METER in self._looked_at

    def join(self, client: Client) -> None:
        self.clients.add(client)
        self._looked_at.update(client.meters)
        if self.closed:
            client.end()

    def leave(self, client: Client) -> None:
        if client in self.clients:
            self.clients.discard(client)
            self._looked_at -= Counter(client.meters)  # which drops those that nobody looks at any more

    def close(self) -> None:
        """End every response; those who still come get an empty one."""
        self.closed = True
        for client in self.clients:
            client.end()


class EventStream(Response):
    """The endless response of one client: first what it must know, then what happens, and a sign of life."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, client: Client, first: Iterable[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub
        self._client = client
        self._first = list(first)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._hub.join(self._client)
        writer = asyncio.create_task(self._write(send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({writer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(self._client)
            for task in (writer, gone):
                task.cancel()
            for error in await asyncio.gather(writer, gone, return_exceptions=True):
                # A client that goes away or takes nothing is no fault.
                if isinstance(error, Exception) and not isinstance(error, OSError):
                    LOG.error("an open page was cut off: %r", error, exc_info=error)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        opening = f"retry: {RETRY_MS}\n\n".encode() + b"".join(self._first)
        await _send_body(send, opening)
        while (frame := await self._next()) is not None:
            await _send_body(send, frame)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._client.queue.get(), HEARTBEAT_SECONDS)
        except TimeoutError:
            return b": still here\n\n"


async def _send_body(send: Send, body: bytes) -> None:
    # A client that takes nothing for this long holds a connection for nobody.
    async with asyncio.timeout(_SEND_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
