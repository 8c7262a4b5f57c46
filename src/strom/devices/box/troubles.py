"""What can be wrong with a box beside its meter, on request: for those who want to see what their program makes of it."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum

from strom.devices.box.listening import IDLE_SECONDS
from strom.errors import StromError

SLOW_SECONDS = 3.0  # longer than programs wait between two questions, shorter than they wait for an answer
_NOISE = (bytes(range(0x80, 0x100)) + b"\r\n\r\n") * 2  # neither HTTP nor Modbus begins like this


class Trouble(StrEnum):
    SLOW = "slow"  # answers after a while
    HANG = "hang"  # takes what is asked and never answers
    GARBAGE = "garbage"  # answers with bytes that mean nothing
    CUT = "cut"  # closes the connection in the middle of an answer
    EXPIRED = "expired"  # shows a certificate that is out of date


class CutError(ConnectionError):
    """The box has closed the connection on purpose."""


class Troubles:
    """May be changed while the box runs; a connection that hangs stays so until the other side closes it."""

    def __init__(self, kinds: Iterable[Trouble] = (), slow_seconds: float = SLOW_SECONDS) -> None:
        self.kinds = frozenset(kinds)
        self.slow_seconds = slow_seconds

    async def send(self, answer: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send an answer as a box with these troubles does."""
        if Trouble.SLOW in self.kinds:
            await asyncio.sleep(self.slow_seconds)
        if Trouble.HANG in self.kinds:
            while await reader.read(4096):
                pass
            raise CutError
        if Trouble.GARBAGE in self.kinds:
            answer = _NOISE
        writer.write(answer[: len(answer) // 2] if Trouble.CUT in self.kinds else answer)
        async with asyncio.timeout(IDLE_SECONDS):  # one that asks and does not listen
            await writer.drain()
        if Trouble.CUT in self.kinds:
            raise CutError


def parse_troubles(text: str | None) -> tuple[Trouble, ...]:
    """`slow,cut`; refuses what is no trouble."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    known = ", ".join(Trouble)
    for word in words:
        if word not in set(Trouble):
            raise StromError(f"{word!r} is no trouble that a box can have; choose from {known}.")
    return tuple(Trouble(word) for word in words)
