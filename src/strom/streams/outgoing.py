"""A message as it goes to Kafka: its bytes or their parts, its headers, its place and its time. It sends nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from strom.errors import StromError
from strom.settings import PartsSettings
from strom.streams.assembler import room_of
from strom.streams.chunks import split
from strom.streams.refusals import MessageError
from strom.streams.start import epoch_ms
from strom.streams.topics import HEADER_PART

Header = tuple[str, str | bytes | None]
Headers = Mapping[str, str | bytes | None] | Sequence[Header]
Piece = tuple[bytes | None, list[Header]]  # a value, or a part of it with the header that says so

NOW_MS = 0  # the client's own "now"


class Outgoing(NamedTuple):
    topic: str
    key: bytes | None
    partition: int
    headers: list[Header]
    at_ms: int
    pieces: list[Piece]


def pieces_of(value: bytes | None, headers: Sequence[Header], parts: PartsSettings) -> list[Piece]:
    """The value, or its parts where it is too large for one record."""
    if value is None or len(value) <= parts.over_bytes:
        return [(value, [])]
    if room_of(len(value), parts.over_bytes) > parts.memory_bytes:
        raise MessageError(
            f"A value of {len(value):,} bytes is larger than whoever puts its parts together takes; "
            f"set parts.memory_mb higher than {parts.memory_mb} for senders and readers."
        )
    if any(name == HEADER_PART for name, _ in headers):
        raise MessageError(
            f"The header {HEADER_PART} is for parts; a value of {len(value):,} bytes gets its own."
        )
    return [(piece, [(HEADER_PART, part.header)]) for part, piece in split(value, parts.over_bytes)]


def at_ms(moment: int | datetime | None, zone: str) -> int:
    """Epoch ms; a moment without a zone is one of this zone."""
    if moment is None:
        return NOW_MS
    found = epoch_ms(moment, zone) if isinstance(moment, datetime) else moment
    if found <= 0:
        raise StromError(f"timestamp {found} is before 1970; give epoch milliseconds or a datetime.")
    return found
