"""The REST interface of a box: measurement and status as JSON, in the paths of the datasheet and those in the field.

Without the token nothing is told. Connections are kept open; what a request may be is in `http_head.py`.
"""

import asyncio
import hmac
import json
from http import HTTPStatus
from typing import NamedTuple

from strom.devices.box.http_head import BadRequestError, Request, read_head
from strom.devices.box.listening import IDLE_SECONDS
from strom.devices.box.pushes import Pushes
from strom.devices.box.status import status_of
from strom.devices.box.troubles import Troubles

MEASUREMENT = ("/api/data/measurement.json", "/api/v1/measurement", "/api/v1/measurement.json")
STATUS = ("/api/sma/status.json", "/api/v1/status.json")
SCHEME = "TOKEN"


class Answer(NamedTuple):
    status: HTTPStatus
    body: bytes
    keep_alive: bool = True
    more: tuple[str, ...] = ()  # further header lines

    def encode(self, *, with_body: bool = True) -> bytes:
        lines = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-store",
            f"Connection: {'keep-alive' if self.keep_alive else 'close'}",
            *self.more,
            "\r\n",
        )
        return "\r\n".join(lines).encode("ascii") + (self.body if with_body else b"")


class Rest:
    """Serves each connection until it is closed; `answers` counts what was told."""

    def __init__(self, pushes: Pushes, token: str, troubles: Troubles) -> None:
        self.answers = 0
        self._pushes = pushes
        self._token = token.encode("latin-1")
        self._troubles = troubles

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        keep_alive = True
        while keep_alive:
            async with asyncio.timeout(IDLE_SECONDS):
                answer, with_body = await self._hear(reader)
            await self._troubles.send(answer.encode(with_body=with_body), reader, writer)
            self.answers += 1
            keep_alive = answer.keep_alive

    async def _hear(self, reader: asyncio.StreamReader) -> tuple[Answer, bool]:
        try:
            request = read_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            return _last(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long"), True
        except BadRequestError as error:
            return _last(HTTPStatus.BAD_REQUEST, str(error)), True
        answer = self._answer(request)
        return answer._replace(keep_alive=answer.keep_alive and request.keep_alive), request.method != "HEAD"

    def _answer(self, request: Request) -> Answer:
        if not self._is_let_in(request):
            why = f"send the header Authorization: {SCHEME} <token>"
            return _refusal(HTTPStatus.UNAUTHORIZED, why, f"WWW-Authenticate: {SCHEME}")
        if request.method not in ("GET", "HEAD"):
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "ask with GET", "Allow: GET, HEAD")
        if request.path in MEASUREMENT:
            return self._measurement()
        if request.path in STATUS:
            return Answer(HTTPStatus.OK, _json(status_of(self._pushes)))
        return _refusal(HTTPStatus.NOT_FOUND, "there is nothing at this path")

    def _measurement(self) -> Answer:
        last = self._pushes.last()
        if last is None:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the meter has sent nothing in the last minute")
        return Answer(HTTPStatus.OK, last.payload)

    def _is_let_in(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
        return same and scheme.upper() == SCHEME


def _refusal(status: HTTPStatus, why: str, *more: str) -> Answer:
    return Answer(status, _json({"error": why}), more=more)


def _last(status: HTTPStatus, why: str) -> Answer:
    """After what is no request nobody knows where the next begins, so the connection is closed."""
    return _refusal(status, why)._replace(keep_alive=False)


def _json(content: dict[str, object]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
