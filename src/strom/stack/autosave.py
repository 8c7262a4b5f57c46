"""Makes Mosquitto save what it has acknowledged: often while little waits in it, seldom while much does.

It writes its whole memory each time and serves no one meanwhile. By itself it saves either after a count of
changes or after a fixed time, which is ruinous for a long queue or loses too much of a short one. Nor does it say aloud
that a save has failed: that is found out here, and told.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from strom.backoff import Backoff

SHORTEST_PAUSE = 0.2  # seconds between two saves, and so what a kill of the broker can cost
SAVING_SHARE = 0.1  # of the broker's time at most
POLL_PAUSE = 0.01
# Without a new file, after which the broker is looked at: if it is not writing, the save has failed.
QUIET_SECONDS = 10.0
SAVE_SECONDS = 60.0  # the same where the kernel does not tell what it writes
FIRST_RETRY, LONGEST_RETRY = 1.0, 30.0  # seconds after a save that failed, doubling in between


async def save_often(pid: int, database: Path, report: Callable[[str], None]) -> None:
    """Ask for a save (SIGUSR1) whenever the broker has read something, for as long as it lives."""
    pause, seen = SHORTEST_PAUSE, -1
    failing = Backoff(FIRST_RETRY, LONGEST_RETRY)
    with contextlib.suppress(ProcessLookupError):
        while True:
            await asyncio.sleep(pause)
            read = _bytes_read(pid)
            if read is not None and read == seen:
                continue  # nobody said anything: an idle broker leaves the disk alone
            seen = -1 if read is None else read
            took = await _save(pid, database)
            if took is None:
                seen = -1  # to be tried again, also if nobody says anything more
                if not failing.attempts:
                    report(_complaint(database))
                pause = failing.next()
                continue
            if failing.attempts:
                report("Mosquitto saves what it keeps again")
                failing.reset()
            pause = max(SHORTEST_PAUSE, took / SAVING_SHARE)


async def _save(pid: int, database: Path) -> float | None:
    """Seconds that it took; None if it failed."""
    before, began = _identity(database), time.monotonic()
    os.kill(pid, signal.SIGUSR1)
    look_at = began + QUIET_SECONDS
    while _identity(database) == before:
        if (now := time.monotonic()) > look_at:
            writing = _is_writing(pid, database)
            if not (now - began < SAVE_SECONDS if writing is None else writing):
                return None
            look_at = now + QUIET_SECONDS
        await asyncio.sleep(POLL_PAUSE)
        os.kill(pid, 0)
    return time.monotonic() - began


def _complaint(database: Path) -> str:
    try:
        free = f"{shutil.disk_usage(database.parent).free / 1e6:,.1f} MB are free there"
    except OSError as error:
        free = error.strerror or str(error)
    return (
        f"Mosquitto cannot save what it keeps to {database} ({free}): make room on that disk. "
        "Until then its messages are in memory alone and are lost if it ends; it is asked to save again and again"
    )


def _identity(database: Path) -> tuple[int, int] | None:
    """Mosquitto writes a new file and renames it when it is complete."""
    try:
        found = database.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _is_writing(pid: int, database: Path) -> bool | None:
    """Whether it has the new file open, be it to wait for the disk; None where the kernel does not tell."""
    new = f"{database}.new"
    try:
        return any(
            os.path.realpath(each.path) == os.path.realpath(new) for each in os.scandir(f"/proc/{pid}/fd")
        )
    except OSError:
        return None


def _bytes_read(pid: int) -> int | None:
    """What the process has read since its start, sockets included; None where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])
