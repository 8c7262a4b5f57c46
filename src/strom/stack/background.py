"""`strom up` without a terminal: starts the supervisor on its own, relays its progress, and ends it again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.catalogue import ELSEWHERE, KINDS, choose, held, usual
from strom.stack.lock import PartLocks, holder_pid
from strom.stack.processes import await_end
from strom.stack.ready import announced_pid, withdraw

FOLLOW_PAUSE = 0.1
STOP_SECONDS = 180.0
FAILURE = "strom: "  # how the command line begins the sentence it ends with


def announced_as(settings: Settings, parts: Iterable[str]) -> str:
    """The name under which a supervisor tells that all its parts are ready: no other of the home has its first kind."""
    return f"stack-{held(choose(settings, parts))[0]}"


def start(settings: Settings, parts: Sequence[str], report: Callable[[str], None]) -> int:
    """Return the supervisor's pid when all is ready; its own words when it fails."""
    home = settings.home.absolute()
    kinds = held(choose(settings, parts))
    # Refuses a second one, and a home that cannot be written, before anything is started.
    probe = PartLocks(home, kinds)
    probe.acquire()
    probe.release()
    name = announced_as(settings, parts)
    withdraw(home, name)
    path = home / "logs" / ("up.log" if set(parts) == set(usual(settings)) else f"up-{kinds[0]}.log")
    with path.open("wb") as log:
        process = _launch(settings, parts, log)
    _follow(process, lambda: announced_pid(home, name) == process.pid, path, report)
    return process.pid


def end(home: Path) -> list[int]:
    """Stop all supervisors of this home, those of parts that use others first, and wait until they are gone; their pids."""
    found = [holder_pid(home, kind) for kind in (ELSEWHERE, *reversed(KINDS))]
    pids = list(dict.fromkeys(pid for pid in found if pid is not None))
    for pid in pids:
        _end(home, pid)
    return pids


def _end(home: Path, pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise StromError(f"The stack (pid {pid}) belongs to another user: stop it as that user.") from None
    if not await_end(pid, STOP_SECONDS):
        raise StromError(f"The stack (pid {pid}) does not stop: look at {home / 'logs'}.")


def _launch(settings: Settings, parts: Iterable[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "strom", "up", "--only", ",".join(parts)],
        env=settings.child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _follow(
    process: subprocess.Popen[bytes], is_ready: Callable[[], bool], log: Path, report: Callable[[str], None]
) -> None:
    failure = f"The stack ended before it was ready: look at {log}."
    with log.open(encoding="utf-8") as written:
        while True:
            ended = process.poll() is not None
            ready = is_ready()
            for line in written.read().splitlines():
                if line.startswith(FAILURE):
                    failure = line.removeprefix(FAILURE)
                else:
                    report(line)
            if ended:
                raise StromError(failure)
            if ready:
                return
            time.sleep(FOLLOW_PAUSE)
