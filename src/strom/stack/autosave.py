"""Makes Mosquitto save what it has acknowledged: often while little waits in it, seldom while much does.

It writes its whole memory each time and serves no one meanwhile. By itself it saves either after a count of
changes or after a fixed time, which is ruinous for a long queue or loses too much of a short one.
"""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

SHORTEST_PAUSE = 0.2  # seconds between two saves, and so what a kill of the broker can cost
SAVING_SHARE = 0.1  # of the broker's time at most
POLL_PAUSE = 0.01
SAVE_SECONDS = 60.0


async def save_often(pid: int, database: Path) -> None:
    """Ask for a save (SIGUSR1) whenever the broker has read something, for as long as it lives."""
    pause, seen = SHORTEST_PAUSE, -1
    with contextlib.suppress(ProcessLookupError):
        while True:
            await asyncio.sleep(pause)
            read = _bytes_read(pid)
            if read is not None and read == seen:
                continue  # nobody said anything: an idle broker leaves the disk alone
            seen = -1 if read is None else read
            took = await _save(pid, database)
            pause = max(SHORTEST_PAUSE, took / SAVING_SHARE)


async def _save(pid: int, database: Path) -> float:
    before, began = _identity(database), time.monotonic()
    os.kill(pid, signal.SIGUSR1)
    while _identity(database) == before and time.monotonic() - began < SAVE_SECONDS:
        await asyncio.sleep(POLL_PAUSE)
        os.kill(pid, 0)
    return time.monotonic() - began


def _identity(database: Path) -> tuple[int, int] | None:
    """Mosquitto writes a new file and renames it when it is complete."""
    try:
        found = database.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _bytes_read(pid: int) -> int | None:
    """What the process has read since its start, sockets included; None where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])
