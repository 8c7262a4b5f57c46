"""Large messages in parts: how a value is split, what each part says of itself, and how they become one again.

Pure functions on bytes: no Kafka, no storage, no clock. Whoever gathers parts keeps them as it likes (`assembler.py`
in memory, a Spark query in its state) and calls `join` when there are `count` of them.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

# id/index/count/digest. Numbers as they are written by `header`, so that one part has one spelling.
_HEADER = re.compile(r"([0-9a-f]{8,64})/(0|[1-9][0-9]{0,6})/([1-9][0-9]{0,6})/([0-9a-f]{16})")
_ID_BYTES = 16


class BadPartsError(Exception):
    """These parts are not one message: `what` says it in a few words for people."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class Part:
    """What the header `strom-part` says."""

    id: str  # random, the same for all parts of a message
    index: int  # from 0
    count: int
    digest: str  # the first 16 hex digits of the whole value's sha256

    @property
    def header(self) -> bytes:
        return f"{self.id}/{self.index}/{self.count}/{self.digest}".encode()

    def fits(self, other: "Part") -> bool:
        """Whether both can be parts of one message."""
        return (self.id, self.count, self.digest) == (other.id, other.count, other.digest)


Pieces = dict[int, tuple[Part, bytes]]  # what has come of one message, by index


def parse_part(header: bytes | str | None) -> Part | None:
    """None where there is no header, or one that no part has."""
    if header is None:
        return None
    text = header if isinstance(header, str) else header.decode(errors="replace")
    found = _HEADER.fullmatch(text)
    if found is None or int(found[2]) >= int(found[3]):
        return None
    return Part(found[1], int(found[2]), int(found[3]), found[4])


def split(value: bytes, limit: int) -> list[tuple[Part, bytes]]:
    """In order, each of at most `limit` bytes; a value that fits is a message of one part."""
    message, digest = secrets.token_hex(_ID_BYTES), _digest(value)
    pieces = [value[start : start + limit] for start in range(0, len(value), limit)] or [value]
    return [(Part(message, index, len(pieces), digest), piece) for index, piece in enumerate(pieces)]


def put(pieces: Pieces, part: Part, piece: bytes) -> bool:
    """Add one part to those of its message; False if it was there. Raises BadPartsError if it is none of them."""
    if pieces and not part.fits(next(iter(pieces.values()))[0]):
        raise BadPartsError("parts of one id tell different counts or digests")
    added = part.index not in pieces
    _, known = pieces.setdefault(part.index, (part, piece))
    if known != piece:
        raise BadPartsError(f"part {part.index + 1} of {part.count} came twice with other bytes")
    return added


def join(parts: Iterable[tuple[Part, bytes]]) -> bytes:
    """The whole value, in whatever order and however often the parts come; raises BadPartsError."""
    pieces: Pieces = {}
    for part, piece in parts:
        put(pieces, part, piece)
    if not pieces:
        raise BadPartsError("there are no parts")
    told = next(iter(pieces.values()))[0]
    if len(pieces) < told.count:
        raise BadPartsError(f"{told.count - len(pieces)} of {told.count} parts are missing")
    value = b"".join(pieces[index][1] for index in range(told.count))
    if _digest(value) != told.digest:
        raise BadPartsError(f"the bytes of its {told.count} parts do not fit the digest {told.digest}")
    return value


def _digest(value: bytes) -> str:
    return sha256(value).hexdigest()[:16]
