"""What the poller needs of an adapter, however it is asked."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

from strom.ingest.poll.trouble import Kind, Trouble

Found = TypeVar("Found")


class Asking(Protocol):
    """One adapter; asked by one task only, so that never more than one request is under way."""

    @property
    def expires(self) -> int:
        """End of its certificate's validity in epoch seconds; 0 where there is none."""

    async def ask(self) -> bytes:
        """Its latest push as a payload; Trouble if there is none to be had."""

    async def ask_status(self) -> dict[str, Any] | None:
        """What it tells about itself; None where it has no such answer."""

    async def close(self) -> None: ...


async def within(seconds: float, answer: Awaitable[Found]) -> Found:
    """The answer, or the trouble that it took too long."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise Trouble(Kind.TIMEOUT, f"no answer within {seconds:g} s") from None
