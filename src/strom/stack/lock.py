"""One supervisor a kind of part and home: locks that the kernel releases when their holder is gone."""

import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from strom.errors import StromError

ATTEMPTS, ATTEMPT_PAUSE = 5, 0.02


class PartLocks:
    """Those of the kinds of parts that one supervisor runs: all of them or none."""

    def __init__(self, home: Path, kinds: Sequence[str]) -> None:
        self._home = home
        self._kinds = kinds
        self._files: list[IO[str]] = []

    def acquire(self) -> None:
        """Take the locks, or say who has them."""
        taken = [kind for kind in self._kinds if not self._acquired(kind)]
        if not taken:
            return
        self.release()
        pids = {str(holder_pid(self._home, kind) or "unknown"): None for kind in taken}
        raise StromError(
            f"{', '.join(taken)} {'is' if len(taken) == 1 else 'are'} running already in {self._home} "
            f"(pid {', '.join(pids)}): stop what runs there with `strom down`, start only the others "
            "(`--only`; `--kafka` and the like use what runs), or choose another home (STROM_HOME or --home)."
        )

    def release(self) -> None:
        while self._files:
            self._files.pop().close()

    def _acquired(self, kind: str) -> bool:
        file = _open(_path(self._home, kind), self._home)
        if not _locked(file):
            file.close()
            return False
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._files.append(file)
        return True


def holder_pid(home: Path, kind: str) -> int | None:
    """The supervisor's pid while one holds the lock."""
    path = _path(home, kind)
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


def _path(home: Path, kind: str) -> Path:
    return home / "run" / f"stack-{kind}.lock"


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
