"""One request as a handler sees it: its path, query and headers, and its body within limits."""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from strom.ingest.gateway.answers import ClientGone, Problem
from strom.ingest.gateway.intake import Intake
from strom.ingest.gateway.rights import User

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

_LENGTH_DIGITS = 18
# What curl sends if it is not told otherwise is a form; nobody means one here.
_READ_AS_JSON = (b"application/json", b"application/x-www-form-urlencoded")


class Call:
    __slots__ = ("_held", "_intake", "_segments", "announced", "headers", "receive", "scope", "user")

    def __init__(self, scope: Scope, receive: Receive, segments: list[bytes], intake: Intake) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.user: User  # from when it is known
        self.scope = scope
        self.receive = receive
        length = self.headers.get(b"content-length")
        # How large the body says that it will be; 0 if it does not say.
        self.announced = 0 if length is None else _size(length)
        self._segments = segments
        self._intake = intake
        self._held = 0

    def segment(self, place: int) -> str:
        """A part of the path, counted from 0, without its percent signs."""
        raw = self._segments[place]
        try:
            return (unquote_to_bytes(raw) if b"%" in raw else raw).decode()
        except UnicodeDecodeError:
            raise Problem(400, "The path is not UTF-8; correct its percent-encoding.") from None

    def query(self, *names: str) -> dict[str, str]:
        """The parameters; one that is not among the names, or comes twice, is refused."""
        raw: bytes = self.scope["query_string"]
        if not raw:
            return {}
        try:
            pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict")
        except ValueError:
            raise Problem(400, "The query is not UTF-8; correct its percent-encoding.") from None
        found: dict[str, str] = {}
        for name, value in pairs:
            if name not in names:
                known = f"there is {', '.join(names)}" if names else "this takes none"
                raise Problem(400, f"The query has an unknown parameter {name[:40]!r}; {known}.")
            if name in found:
                raise Problem(400, f"The query has {name} twice; give it once.")
            found[name] = value
        return found

    def require_json(self) -> None:
        """Refuse a body that says it is something else, or packed."""
        given = self.headers.get(b"content-type")
        if given is not None and given not in _READ_AS_JSON:
            kind, _, parameters = given.lower().partition(b";")
            charset = parameters.replace(b" ", b"").replace(b'"', b"")
            if kind.strip() not in _READ_AS_JSON or charset not in (b"", b"charset=utf-8"):
                raise Problem(415, f"{given.decode('latin-1')[:80]} cannot be read; send application/json.")
        if b"content-encoding" in self.headers:
            raise Problem(415, "A body with a Content-Encoding cannot be read; send it unpacked.")

    async def body(self) -> bytes:
        """All of it, or Problem 413 as soon as it is too much; it counts as held until `close`."""
        size = self.announced
        self._hold(size)
        with self._intake.coming():
            message = await self.receive()
            if message["type"] == "http.request" and not message["more_body"]:
                body: bytes = message["body"]
                if len(body) <= size:
                    return body
            return await self._rest(message)

    async def body_into(self, memory: memoryview) -> int:
        """The same, written there; returns how large it is. For bodies that say how large they are."""
        self._hold(self.announced)
        size = 0
        with self._intake.coming():
            while True:
                message = await self.receive()
                if message["type"] != "http.request":
                    raise ClientGone
                part = message["body"]
                if size + len(part) > len(memory):
                    raise self._too_large()
                memory[size : size + len(part)] = part
                size += len(part)
                if not message["more_body"]:
                    return size

    def close(self) -> None:
        """The call is answered: its body is let go."""
        if self._held:
            self._intake.release(self._held)

    def _hold(self, size: int) -> None:
        """So much in all."""
        if size > self._intake.largest:
            raise self._too_large()
        self._intake.hold(size - self._held)
        self._held = size

    async def _rest(self, message: Message) -> bytes:
        parts, size = [], 0
        while True:
            if message["type"] != "http.request":
                raise ClientGone
            parts.append(message["body"])
            size += len(message["body"])
            if size > self._held:
                self._hold(size)
            if not message["more_body"]:
                return b"".join(parts)
            message = await self.receive()

    def _too_large(self) -> Problem:
        return Problem(
            413,
            f"The body is larger than {self._intake.largest:,} bytes (gateway.max_body); send less at once.",
        )


def _size(length: bytes) -> int:
    """One that is no number, or a number that nobody means, is more than any limit."""
    return int(length) if length.isdigit() and len(length) <= _LENGTH_DIGITS else sys.maxsize
