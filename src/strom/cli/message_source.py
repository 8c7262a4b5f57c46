"""What `strom produce` is given to send: the lines of files or of standard input, or whole files. It sends nothing."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from strom.errors import StromError

STDIN = Path("-")


@dataclass(frozen=True)
class Message:
    where: str  # as people find it again
    text: bytes  # as it was read
    value: bytes
    key: bytes | None = None


@dataclass(frozen=True)
class Unreadable:
    """Something that is no message, and why."""

    where: str
    text: bytes | None  # None where it is too long to be held
    why: str


def messages(
    files: list[Path], *, whole: bool, key: str | None, separator: str | None, most: int
) -> Iterator[Message | Unreadable]:
    """One for each line, or for each file; `most` bytes is more than any message may have."""
    fixed = None if key is None else key.encode()
    split_at = None if separator is None else separator.replace("\\t", "\t").encode()
    for where, text in _texts(files, most, whole=whole):
        if len(text) > most:
            yield Unreadable(where, None, f"it has more than {most:,} bytes, as parts.memory_mb says")
        elif split_at is not None:
            yield _message(where, text, split_at)
        else:
            yield Message(where, text, text, fixed)


def _texts(files: list[Path], most: int, *, whole: bool) -> Iterator[tuple[str, bytes]]:
    for path in files:
        name = "standard input" if path == STDIN else str(path)
        with _opened(path) as stream:
            if whole:
                yield name, stream.read(most + 1)
            else:
                prefix = "line" if files == [STDIN] else f"{name}, line"
                for number, line in _lines(stream, most):
                    yield f"{prefix} {number:,}", line


def check_files(files: list[Path]) -> None:
    """Refuse a file that cannot be read before anything is sent."""
    for path in files:
        if path != STDIN:
            with _opened(path):
                pass


def _opened(path: Path) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    try:
        return path.open("rb")
    except OSError as error:
        raise StromError(f"{path} cannot be read ({error.strerror}); name a file that can.") from None


def _lines(stream: BinaryIO, most: int) -> Iterator[tuple[int, bytes]]:
    """Numbered and without their ends; of one that is too long only so much that it still is."""
    number = 0
    while line := stream.readline(most + 3):
        number += 1
        yield number, line.removesuffix(b"\n").removesuffix(b"\r")
        while len(line) == most + 3 and not line.endswith(b"\n"):
            line = stream.readline(most + 3)


def _message(where: str, line: bytes, separator: bytes) -> Message | Unreadable:
    key, found, value = line.partition(separator)
    if not found:
        return Unreadable(where, line, f"there is no {separator.decode()!r} between key and value")
    return Message(where, line, value, key)
