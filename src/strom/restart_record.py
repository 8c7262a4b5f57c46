"""Work in the background of this process that failed and was started again: how often, and what the last time.

A part keeps it in a file in the home's `run` folder, which `strom status` reads. It does not know what the work is.
"""

import contextlib
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_WRITE_SECONDS = 0.5  # failures of so long are one write: thousands of adapters may fail at once


class RestartRecord:
    def __init__(self) -> None:
        self._told: dict[str, Any] = {"restarts": 0}
        self._path: Path | None = None
        self.is_due = False
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Since this process began."""
        return int(self._told["restarts"])

    def add(self, work: str, error: str) -> None:
        with self._lock:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            self._told = {"restarts": self._told["restarts"] + 1, "work": work, "error": error, "at": at}
            self._write_soon()

    def keep(self, home: Path, part: str) -> None:
        """From now on in the part's file; what failed before is in it, too."""
        with self._lock:
            self._path = _file(home, part)
            if self._told["restarts"]:
                self._write_soon()

    def _write_soon(self) -> None:
        if self._path is None or self.is_due:
            return
        self.is_due = True
        timer = threading.Timer(_WRITE_SECONDS, self._write)
        timer.daemon = True
        timer.start()

    def _write(self) -> None:
        with (
            self._lock,
            contextlib.suppress(OSError),
        ):  # a disk that is full must not end what has just begun again
            self.is_due = False
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                fresh = self._path.with_suffix(f".{os.getpid()}")
                fresh.write_text(json.dumps({"pid": os.getpid()} | self._told), encoding="utf-8")
                fresh.replace(self._path)


RESTARTS = RestartRecord()  # of this process


def restarts_of(home: Path, part: str, pid: int | None) -> dict[str, Any]:
    """What the part with this pid has told; what a former one told counts for nothing."""
    try:
        told = json.loads(_file(home, part).read_text(encoding="utf-8"))
        return told if told.pop("pid") == pid else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _file(home: Path, part: str) -> Path:
    return home / "run" / f"{part}.restarts"
