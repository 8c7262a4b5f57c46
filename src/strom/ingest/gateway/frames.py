"""What the gateway and a process that writes for it say to each other, over a socket that only they have.

Bodies do not go that way: they stand in memory that both see, in one of so many slots.
"""

import asyncio
import mmap
import os
import socket
import struct
import tempfile
from typing import NamedTuple

SLOTS = 8  # bodies that one process may have at once
_TASK = struct.Struct("!QHQIHH")
_RESULT = struct.Struct("!QHHIIQ")


class Task(NamedTuple):
    """A body of so many bytes in a slot, for one topic that has so many partitions."""

    number: int
    slot: int
    size: int
    partitions: int
    topic: str
    user: str


class Result(NamedTuple):
    """The answer to a task, and what was counted since the last one."""

    number: int
    status: int
    retry_after: int  # seconds, or 0
    written: int
    not_written: int
    body: bytes


READY = Result(0, 0, 0, 0, 0, b"")  # said once by a process that can begin


class Line:
    """One end of the socket; both reads return None when the other end is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, connection: socket.socket) -> "Line":
        return cls(*await asyncio.open_connection(sock=connection))

    def send_task(self, task: Task) -> None:
        topic, user = task.topic.encode(), task.user.encode()
        numbers = (task.number, task.slot, task.size, task.partitions, len(topic), len(user))
        self._writer.write(_TASK.pack(*numbers) + topic + user)

    async def read_task(self) -> Task | None:
        try:
            head = await self._reader.readexactly(_TASK.size)
            number, slot, size, partitions, topic, user = _TASK.unpack(head)
            names = await self._reader.readexactly(topic + user)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Task(number, slot, size, partitions, names[:topic].decode(), names[topic:].decode())

    def send_result(self, result: Result) -> None:
        *numbers, body = result
        self._writer.write(_RESULT.pack(*numbers, len(body)) + body)

    async def read_result(self) -> Result | None:
        try:
            head = await self._reader.readexactly(_RESULT.size)
            number, status, retry_after, written, not_written, size = _RESULT.unpack(head)
            body = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Result(number, status, retry_after, written, not_written, body)

    def close(self) -> None:
        self._writer.close()


def open_memory(slot_bytes: int) -> int:
    """A new file in memory with room for all slots, of which only what is used takes any; to be closed by the caller."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("strom-gateway")
    else:  # not on Linux
        with tempfile.TemporaryFile() as file:
            number = os.dup(file.fileno())
    try:
        os.truncate(number, SLOTS * slot_bytes)
    except OSError:
        os.close(number)
        raise
    return number


def slots_in(memory: int) -> list[memoryview]:
    """The slots of a file that `open_memory` has made."""
    whole = memoryview(mmap.mmap(memory, 0))
    size = len(whole) // SLOTS
    return [whole[number * size : (number + 1) * size] for number in range(SLOTS)]
