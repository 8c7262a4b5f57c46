"""Facts about processes that are not our children: whether one is still the same, and waiting for its end."""

import os
import select
from pathlib import Path


def birth(pid: int) -> str | None:
    """When the process was started, in the kernel's ticks: with the pid it names one process for good."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]


def command_of(pid: int) -> list[str]:
    """The command line of the process; empty for one that is gone, or dead and not yet buried."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []


def working_in(folder: Path) -> list[int]:
    """Every process whose working folder this is, as far as we may see them."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except OSError:
            continue  # gone by now, or not ours to look at
    return found


def is_alive(pid: int | None) -> bool:
    return pid is not None and birth(pid) is not None


def await_end(pid: int, seconds: float) -> bool:
    """Wait until the process is gone; False if it is still there after that time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(handle)
