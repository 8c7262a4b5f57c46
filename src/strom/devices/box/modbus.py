"""The Modbus TCP interface of a box: its registers, read with functions 3 and 4. It knows nothing of what they mean.

Whoever asks as any unit is answered. What is not Modbus closes the connection, for nothing tells where the next
request would begin.
"""

import asyncio
import struct
from collections.abc import Callable, Sequence

from strom.devices.box.listening import IDLE_SECONDS
from strom.devices.box.troubles import Troubles

READ_HOLDING, READ_INPUT = 3, 4
ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE = 1, 2, 3
MOST_REGISTERS = 125  # in one request
_EXCEPTION = 0x80
_HEADER = struct.Struct(">HHHB")  # transaction, protocol, length from the unit on, unit
_MOST_LENGTH = 254


class NotModbusError(ConnectionError):
    """Bytes that are no request."""


class Modbus:
    """`registers` gives what stands from `base` on at this moment; `answers` counts what was told."""

    def __init__(self, registers: Callable[[], Sequence[int]], base: int, troubles: Troubles) -> None:
        self.answers = 0
        self._registers = registers
        self._base = base
        self._troubles = troubles

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(IDLE_SECONDS):
                transaction, protocol, length, unit = _HEADER.unpack(await reader.readexactly(_HEADER.size))
                if protocol != 0 or not 2 <= length <= _MOST_LENGTH:
                    raise NotModbusError
                request = await reader.readexactly(length - 1)
            answer = answer_to(request, self._registers(), self._base)
            header = _HEADER.pack(transaction, 0, len(answer) + 1, unit)
            await self._troubles.send(header + answer, reader, writer)
            self.answers += 1


def answer_to(request: bytes, registers: Sequence[int], base: int) -> bytes:
    """The answer to one request, without its header; a refusal is an answer, too."""
    function = request[0]
    if function not in (READ_HOLDING, READ_INPUT):
        return _refusal(function, ILLEGAL_FUNCTION)
    if len(request) != 5:
        return _refusal(function, ILLEGAL_VALUE)
    address, count = struct.unpack(">HH", request[1:])
    if not 1 <= count <= MOST_REGISTERS:
        return _refusal(function, ILLEGAL_VALUE)
    first = address - base
    if first < 0 or first + count > len(registers):
        return _refusal(function, ILLEGAL_ADDRESS)
    return struct.pack(f">BB{count}H", function, 2 * count, *registers[first : first + count])


def _refusal(function: int, why: int) -> bytes:
    return bytes((function & 0x7F | _EXCEPTION, why))
