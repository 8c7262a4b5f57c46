"""`strom up` without a terminal: starts the supervisor on its own, relays its progress, and ends it again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.lock import HomeLock, holder_pid
from strom.stack.processes import await_end
from strom.stack.ready import announced_pid, withdraw

STACK = "stack"  # the name under which the supervisor itself announces that all parts are ready
FOLLOW_PAUSE = 0.1
STOP_SECONDS = 180.0
FAILURE = "strom: "  # how the command line begins the sentence it ends with


def start(settings: Settings, parts: Iterable[str], report: Callable[[str], None]) -> int:
    """Return the supervisor's pid when all is ready; its own words when it fails."""
    home = settings.home.absolute()
    probe = HomeLock(
        home
    )  # refuses a second one, and a home that cannot be written, before anything is started
    probe.acquire()
    probe.release()
    withdraw(home, STACK)
    path = home / "logs" / "up.log"
    with path.open("wb") as log:
        process = _launch(settings, parts, log)
    _follow(process, home, path, report)
    return process.pid


def end(home: Path) -> int | None:
    """Stop the stack of this home and wait until it is gone; its pid, or None if there was none."""
    pid = holder_pid(home)
    if pid is None:
        return None
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return pid
    except PermissionError:
        raise StromError(f"The stack (pid {pid}) belongs to another user: stop it as that user.") from None
    if not await_end(pid, STOP_SECONDS):
        raise StromError(f"The stack (pid {pid}) does not stop: look at {home / 'logs'}.")
    return pid


def _launch(settings: Settings, parts: Iterable[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "strom", "up", "--only", ",".join(parts)],
        env=settings.child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _follow(process: subprocess.Popen[bytes], home: Path, log: Path, report: Callable[[str], None]) -> None:
    failure = f"The stack ended before it was ready: look at {log}."
    with log.open(encoding="utf-8") as written:
        while True:
            ended = process.poll() is not None
            ready = announced_pid(home, STACK) == process.pid
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
