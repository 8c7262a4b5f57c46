"""One supervisor a home folder: a lock that the kernel releases when its holder is gone."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from strom.errors import StromError

ATTEMPTS, ATTEMPT_PAUSE = 5, 0.02


class HomeLock:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        path = _path(self._home)
        file = _open(path, self._home)
        if not _locked(file):
            file.close()
            raise StromError(
                f"A stack is running already in {self._home} (pid {holder_pid(self._home) or 'unknown'}): "
                "stop it with `strom down`, or choose another home (STROM_HOME or --home)."
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def holder_pid(home: Path) -> int | None:
    """The supervisor's pid while one holds the lock."""
    path = _path(home)
    if not path.exists():
        return None
    with path.open("r", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read().strip()
            return int(text) if text.isdecimal() else None
    return None


def _locked(file: IO[str]) -> bool:
    # `strom status` takes the lock for a moment to see whether it is free: that is no reason to refuse.
    for _ in range(ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(ATTEMPT_PAUSE)
        else:
            return True
    return False


def _path(home: Path) -> Path:
    return home / "run" / "stack.lock"


def _open(path: Path, home: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (home / "logs").mkdir(exist_ok=True)
        return path.open("a", encoding="ascii")
    except OSError as error:
        reason = error.strerror or str(error)
        raise StromError(
            f"The home folder {home} cannot be written ({reason}): "
            "mend that, or choose another (STROM_HOME or --home)."
        ) from None
