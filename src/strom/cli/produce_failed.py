"""The file that `strom produce --failed` leaves: every line that was not written, as it was read, to be sent again.

Answers come in any order, and a meter's lines must be sent again in theirs. It sends nothing.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from strom.cli.message_source import STDIN
from strom.errors import StromError
from strom.streams.choices import UNDER_WAY

_MOST_BYTES = 64 << 20


class FailedLines:
    def __init__(self, path: Path, sources: list[Path]) -> None:
        """Refuses a file that cannot be written, or that is about to be read; to one that is there it adds."""
        self.path = path
        self.count = 0
        self.trouble: str | None = None  # why not all of them are in the file
        self._waiting: list[tuple[int, bytes]] = []  # with the number of each
        self._bytes = 0
        self._taking = threading.Lock()
        self._is_new = not path.exists()
        if not self._is_new and any(_is_same(each, path) for each in sources):
            raise StromError(f"--failed {path} is what is to be sent; name another file.")
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise StromError(
                f"--failed {path} cannot be written ({error.strerror}); name a file that can."
            ) from None

    def keep(self, number: int, line: bytes) -> None:
        """What is under way at once is put in order; more lines or bytes than that are not held in memory."""
        with self._taking:
            self.count += 1
            self._waiting.append((number, line))
            self._bytes += len(line)
            if len(self._waiting) >= UNDER_WAY or self._bytes >= _MOST_BYTES:
                self._write()

    def flush(self) -> None:
        """What was kept so far stands before whatever comes now, and on the disk."""
        with self._taking:
            self._write()
            self._note_trouble(self._file.flush)

    def close(self) -> None:
        """Where nothing failed, there is no file."""
        with self._taking:
            self._write()
            self._note_trouble(self._file.close)
        if self._is_new and not self.count:
            self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        self._note_trouble(self._write_in_order)
        self._waiting.clear()
        self._bytes = 0

    def _write_in_order(self) -> None:
        for _, line in sorted(self._waiting):
            self._file.write(line)
            # Whoever reads it takes a CR before the end for a part of the end.
            self._file.write(b"\r\n" if line.endswith(b"\r") else b"\n")

    def _note_trouble(self, work: Callable[[], None]) -> None:
        """Lines come as answers do, where nobody would hear of an error: it is told at the end."""
        try:
            work()
        except OSError as error:
            self.trouble = self.trouble or error.strerror


def _is_same(source: Path, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(0) if source == STDIN else source.stat(), path.stat())
    except OSError:  # there is no standard input, or no such file; whoever reads it will say so
        return False
