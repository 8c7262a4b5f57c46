"""Starts and ends child processes so that none outlives the supervisor; knows nothing of what they are.

Three nets: the kernel signals each child when the thread that started it dies, the guardian kills the process
groups of a supervisor that vanished, and a supervisor that starts ends what a former one left behind.
"""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import BinaryIO

from strom.stack.owner import as_user, setpriv
from strom.stack.part import Part

LOG_LIMIT = 10 * 1024 * 1024


async def spawn(part: Part) -> asyncio.subprocess.Process:
    """Start the part, output to its log; in its own session, since Ctrl-C is the supervisor's to handle."""
    command = [*_prefix(part), *part.command()]
    with _open_log(part.log_file) as log:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=asyncio.subprocess.STDOUT,
            env=part.environment,
            cwd=None if part.user is None else "/",
            start_new_session=True,
        )


async def stop(part: Part, process: asyncio.subprocess.Process) -> None:
    """Ask it to stop, wait, and kill what is left of its group."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(part.stop_signal)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), part.stop_seconds)
    kill_group(process.pid)
    await process.wait()


def kill_group(pid: int) -> None:
    """End every process of the session's first group, grandchildren such as Spark's JVM among them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _prefix(part: Part) -> list[str]:
    tool = setpriv()
    if tool is None:
        return []
    # Last on the line: a change of user would clear the request for a signal.
    owner = as_user(part.user, part.home) or [tool]
    return [*owner, f"--pdeathsig={part.death_signal.name.removeprefix('SIG')}", "--"]


def _open_log(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(path.suffix + ".1"))
    return path.open("ab")
