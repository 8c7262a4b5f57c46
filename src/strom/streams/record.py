"""One record of a topic as its reader gets it."""

from dataclasses import dataclass, field
from operator import methodcaller

from confluent_kafka import Message

_TIMESTAMP_NOT_AVAILABLE = 0
# Not by a plain call: Python's quick way to call it would miss the error, and go on with what is no object.
_ask_for_headers = methodcaller("headers")


@dataclass(frozen=True, slots=True)
class Record:
    topic: str
    partition: int
    offset: int  # of a message in parts: that of the part that made it whole
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    at_ms: int | None  # when it was written, epoch ms
    parts: int = 1  # how many it was put together from
    # Where reading goes on when this one is done: the next offset, or the first part of an older message that is not
    # whole yet. It is what a group commits.
    resume_at: int = field(default=0, compare=False, repr=False)

    def header(self, name: str) -> str | None:
        """The last header of this name as text."""
        for header, value in reversed(self.headers):
            if header == name:
                return None if value is None else value.decode(errors="replace")
        return None


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    """In their order; none where a name is no UTF-8, which the client library cannot tell.

    It must not be asked twice then: what it gives at the second time would end the process.
    """
    try:
        headers = _ask_for_headers(message) or []
    except (SystemError, UnicodeDecodeError):
        return ()
    pairs = headers.items() if isinstance(headers, dict) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)


def record_of(message: Message) -> Record:
    kind, at_ms = message.timestamp()
    offset = message.offset() or 0
    return Record(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=offset,
        key=message.key(),
        value=message.value(),
        headers=headers_of(message),
        at_ms=None if kind == _TIMESTAMP_NOT_AVAILABLE else at_ms,
        resume_at=offset + 1,
    )
