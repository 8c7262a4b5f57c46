"""One request as a handler sees it: its path, query and headers, and its body within limits."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from strom.ingest.gateway.answers import ClientGone, Problem, overloaded
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.rights import User

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

BODY_SECONDS = 60.0  # for a body to come whole
_LENGTH = re.compile(rb"\d{1,18}")
# What curl sends if it is not told otherwise is a form; nobody means one here.
_READ_AS_JSON = (b"application/json", b"application/x-www-form-urlencoded")


class Intake:
    """How many bytes of requests may be held at once, each from its first byte to its answer."""

    def __init__(self, limit: int, largest: int, counters: Counters) -> None:
        self.largest = largest
        self._limit = max(limit, largest)
        self._counters = counters

    def hold(self, size: int) -> None:
        if self._counters.held_bytes + size > self._limit:
            raise overloaded("The gateway holds as much as it may")
        self._counters.held_bytes += size

    def release(self, size: int) -> None:
        self._counters.held_bytes -= size


class Call:
    def __init__(self, scope: Scope, receive: Receive, segments: list[bytes], intake: Intake) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.user: User
        self.scope = scope
        self.receive = receive
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
        size = self._hold()
        message = await self.receive()
        if message["type"] == "http.request" and not message["more_body"] and len(message["body"]) <= size:
            return message["body"]  # type: ignore[no-any-return]
        async with _in_time():
            return await self._rest(message)

    async def body_into(self, memory: memoryview) -> int:
        """The same, written there; returns how large it is. For bodies that say how large they are."""
        self._hold()
        size = 0
        async with _in_time():
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

    @property
    def length(self) -> int:
        """How large the body says that it is; 0 if it does not say."""
        return self.announced if b"content-length" in self.headers else 0

    @property
    def announced(self) -> int:
        """How large the body will be; one that does not say counts as the largest."""
        given = self.headers.get(b"content-length")
        if given is None:
            return self._intake.largest if b"transfer-encoding" in self.headers else 0
        return int(given) if _LENGTH.fullmatch(given) else self._intake.largest + 1

    def _hold(self) -> int:
        size = self.announced
        if size > self._intake.largest:
            raise self._too_large()
        self._intake.hold(size)
        self._held = size
        return size

    async def _rest(self, message: Message) -> bytes:
        parts, size = [], 0
        while True:
            if message["type"] != "http.request":
                raise ClientGone
            parts.append(message["body"])
            size += len(message["body"])
            if size > self._intake.largest:
                raise self._too_large()
            if not message["more_body"]:
                return b"".join(parts)
            message = await self.receive()

    def _too_large(self) -> Problem:
        return Problem(
            413,
            f"The body is larger than {self._intake.largest:,} bytes (gateway.max_body); send less at once.",
        )


@asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            yield
    except TimeoutError:
        raise Problem(408, f"The body did not come within {BODY_SECONDS:g} s; send it again.") from None
