"""One Modbus TCP connection to one adapter: reads holding registers, one request at a time, every answer checked.

It knows the protocol's frames, not what the registers mean. A time-out is its user's: a cancelled request closes the
connection, for an answer that comes late must not be taken for the next one's.
"""

import asyncio
import contextlib
import struct
from collections.abc import Sequence

from strom.ingest.poll.lookup import Lookup
from strom.ingest.poll.trouble import Kind, Trouble, unreachable
from strom.settings import AdapterSettings

MAX_REGISTERS = 125  # the protocol's limit for one request
_READ_HOLDING = 3
_ERROR = 0x80
_HEADER = struct.Struct(">HHHBB")  # transaction, protocol, length of what follows it, unit, function
_WORDS = {
    1: "it does not know the function",
    2: "it has no such register",
    3: "it does not take that many registers",
    4: "it failed",
    5: "it needs more time",
    6: "it is busy",
    10: "its gateway has no way to the unit",
    11: "the unit behind its gateway does not answer",
}
BUSY = (5, 6)  # codes that say nothing about the registers


class ModbusError(Trouble):
    """The device understood, and said no."""

    def __init__(self, code: int) -> None:
        super().__init__(Kind.MODBUS, f"Modbus exception {code}: {_WORDS.get(code, 'an unknown one')}")
        self.code = code


class ModbusLine:
    """`read` connects when it must."""

    def __init__(self, adapter: AdapterSettings) -> None:
        self._adapter = adapter
        self._lookup = Lookup(adapter.host, adapter.port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._transaction = 0

    async def read(self, address: int, count: int) -> Sequence[int]:
        """`count` registers from `address` on; ModbusError if the device says no, Trouble if it says nothing."""
        if self._streams is not None:
            with contextlib.suppress(ConnectionError):  # closed while nothing was asked: it never counted
                return await self._exchange(address, count)
        try:
            return await self._exchange(address, count)
        except ConnectionError:
            raise Trouble(Kind.CONNECTION, "closed the connection without an answer") from None

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()

    async def closed(self) -> None:
        """When the system has let go of it."""
        if self._streams is not None:
            streams, self._streams = self._streams, None
            with contextlib.suppress(OSError):
                await streams[1].wait_closed()

    async def _exchange(self, address: int, count: int) -> Sequence[int]:
        reader, writer = self._streams or await self._connect()
        self._transaction = (self._transaction + 1) & 0xFFFF
        frame = _HEADER.pack(self._transaction, 0, 6, self._adapter.unit, _READ_HOLDING)
        try:
            writer.write(frame + struct.pack(">HH", address, count))
            return await self._answer(reader, count)
        except ModbusError:
            raise
        except BaseException:  # also a cancellation
            self.close()
            await self.closed()
            raise

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            self._streams = await asyncio.open_connection(await self._lookup.address(), self._adapter.port)
        except OSError as error:
            raise unreachable(error) from None
        self._lookup.good()
        return self._streams

    async def _answer(self, reader: asyncio.StreamReader, count: int) -> Sequence[int]:
        header = await _exactly(reader, _HEADER.size, begun=False)
        transaction, protocol, length, unit, function = _HEADER.unpack(header)
        expected = (self._transaction, 0, self._adapter.unit)
        if (transaction, protocol, unit) != expected or function & ~_ERROR != _READ_HOLDING:
            raise Trouble(Kind.GARBAGE, "its answer is not Modbus, or one to another request")
        if function & _ERROR:
            if length != 3:
                raise Trouble(Kind.GARBAGE, "its Modbus exception has the wrong length")
            raise ModbusError((await _exactly(reader, 1))[0])
        if length != 3 + 2 * count:
            raise Trouble(Kind.GARBAGE, f"its answer to {count} registers has the wrong length")
        body = await _exactly(reader, 1 + 2 * count)
        if body[0] != 2 * count:
            raise Trouble(Kind.GARBAGE, f"its answer to {count} registers has the wrong length")
        return struct.unpack(f">{count}H", body[1:])


async def _exactly(reader: asyncio.StreamReader, size: int, *, begun: bool = True) -> bytes:
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        if begun or error.partial:
            raise Trouble(Kind.CONNECTION, "cut its answer short") from None
        raise ConnectionResetError from None
    except ConnectionError:
        if begun:
            raise Trouble(Kind.CONNECTION, "cut its answer short") from None
        raise
    except OSError as error:
        raise unreachable(error) from None
