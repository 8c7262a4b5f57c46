"""One connection to one adapter's REST API, kept open from request to request: the box has only three for everybody.

It knows HTTP and TLS, not what the answers say. A time-out is its user's: a cancelled request closes the connection.
"""

import asyncio
import contextlib
import ssl
from typing import cast

from strom import __version__
from strom.ingest.poll.certificate import UNKNOWN_DATE, context_for, expires, known, refused
from strom.ingest.poll.http_answer import HttpAnswer
from strom.ingest.poll.lookup import Lookup
from strom.ingest.poll.trouble import Kind, Trouble, unreachable
from strom.settings import AdapterSettings


class HttpsLine:
    """`get` connects when it must; never more than one request at a time."""

    def __init__(self, entry: str, adapter: AdapterSettings) -> None:
        self.expires = UNKNOWN_DATE  # of the certificate that the adapter showed last
        self._entry = entry
        self._adapter = adapter
        self._context = context_for(adapter)
        self._lookup = Lookup(adapter.host, adapter.port)
        self._head = _head(adapter)
        self._certificate = b""
        self._wire: _Wire | None = None

    async def get(self, path: str) -> HttpAnswer:
        """The answer, whatever its status; Trouble if there is none."""
        if self._wire is not None and self._wire.open:
            with contextlib.suppress(_NoAnswerError):  # closed while nothing was asked: it never counted
                return await self._exchange(self._wire, path)
        try:
            return await self._exchange(await self._connect(), path)
        except _NoAnswerError:
            raise Trouble(Kind.CONNECTION, "closed the connection without an answer") from None

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()

    async def closed(self) -> None:
        """When the system has let go of it."""
        if self._wire is not None:
            await self._wire.lost.wait()

    async def _connect(self) -> "_Wire":
        adapter = self._adapter
        await self.closed()
        self._wire = None
        try:
            _, wire = await asyncio.get_running_loop().create_connection(
                _Wire,
                await self._lookup.address(),
                adapter.port,
                ssl=self._context,
                server_hostname=adapter.host,
            )
        except ssl.SSLError as error:
            raise refused(error) from None
        except OSError as error:
            raise unreachable(error) from None
        self._wire = wire
        self._lookup.good()
        try:
            self._look_at(wire.certificate)
        except Trouble:
            wire.close()
            raise
        return wire

    def _look_at(self, certificate: bytes) -> None:
        if certificate != self._certificate:
            self._certificate, self.expires = certificate, expires(certificate)
        known(self._adapter, self._entry, certificate)

    async def _exchange(self, wire: "_Wire", path: str) -> HttpAnswer:
        try:
            answer = await wire.ask(b"GET %s HTTP/1.1\r\n%s" % (path.encode(), self._head))
        except BaseException:  # also a cancellation: what still comes would be taken for the next answer
            wire.close()
            raise
        if not answer.reusable:
            wire.close()
        return answer


class _NoAnswerError(Exception):
    """The connection ended before the first byte of an answer."""


class _Wire(asyncio.Protocol):
    """The socket's side: bytes to an answer."""

    def __init__(self) -> None:
        self.open = False
        self.lost = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._answer: HttpAnswer | None = None
        self._waiting: asyncio.Future[HttpAnswer] | None = None

    @property
    def certificate(self) -> bytes:
        """Of the other side, in DER."""
        assert self._transport is not None  # noqa: S101 - made by create_connection, so it is connected
        secured: ssl.SSLObject = self._transport.get_extra_info("ssl_object")
        return secured.getpeercert(binary_form=True) or b""

    async def ask(self, request: bytes) -> HttpAnswer:
        if self._transport is None or not self.open:
            raise _NoAnswerError
        self._answer = HttpAnswer()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._waiting
        finally:
            self._answer = self._waiting = None

    def close(self) -> None:
        # Without a TLS farewell: an adapter that has gone silent would never answer it.
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self.open = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:  # nobody has asked
            self.close()
            return
        try:
            answer.feed(data)
        except Trouble as trouble:
            self._settle(trouble)
        if answer.complete:
            self._settle(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        self.lost.set()
        answer = self._answer
        if answer is None:
            return
        if not answer.begun:
            self._settle(_NoAnswerError())
            return
        try:
            answer.end()
            self._settle(answer)
        except Trouble as trouble:
            self._settle(trouble)

    def _settle(self, outcome: HttpAnswer | Exception) -> None:
        with contextlib.suppress(asyncio.InvalidStateError):  # it is settled, or nobody waits any more
            if self._waiting is None:
                return
            if isinstance(outcome, HttpAnswer):
                self._waiting.set_result(outcome)
            else:
                self._waiting.set_exception(outcome)


def _head(adapter: AdapterSettings) -> bytes:
    """What every request to this adapter says after its first line."""
    host = f"[{adapter.host}]" if ":" in adapter.host else adapter.host
    lines = [
        f"Host: {host}:{adapter.port}",
        f"User-Agent: strom/{__version__}",
        "Accept: application/json",
        *([f"Authorization: TOKEN {adapter.token}"] if adapter.token is not None else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
