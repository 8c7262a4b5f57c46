"""Which parts of large messages have come: tells when a message is whole, and which parts can never become one.

It knows where parts stand and none of their bytes, so that little is to be kept. Pure: no Kafka, no Spark, no clock; the
same parts in the same order give the same outcomes, also if its state was written down and read back in between.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from strom.streams.chunks import Part, parse_part

MOST_PARTS = 10_000  # of unfinished messages, all together
REMEMBERED = 1_000  # messages that were whole, so that a part which is sent once more begins none


class Seen(NamedTuple):
    """A part where it stands in the side topic; `raw_…` is its place in the raw topic, `key` and `bytes` are hashes."""

    partition: int
    offset: int
    raw_partition: int
    raw_offset: int
    received_ms: int  # its arrival
    at_ms: int  # when it was written here
    part: str  # its header
    key: int
    bytes: int
    size: int
    redriven: bool


class Whole(NamedTuple):
    """All parts of a message, in the order of their index; `last` is the one that came last."""

    parts: tuple[Seen, ...]
    last: Seen


class Bad(NamedTuple):
    parts: tuple[Seen, ...]
    why: str


Outcome = Whole | Bad


@dataclass
class _Open:
    """A message that lacks parts."""

    count: int
    digest: str
    parts: dict[int, Seen] = field(default_factory=dict)
    size: int = 0
    touched_ms: int = 0

    def put(self, index: int, seen: Seen) -> None:
        self.parts[index] = seen
        self.size += seen.size
        self.touched_ms = max(self.touched_ms, seen.at_ms)

    @property
    def in_order(self) -> tuple[Seen, ...]:
        return tuple(self.parts[index] for index in sorted(self.parts))

    def has(self, part: Part, seen: Seen) -> bool:
        """Whether the sender has sent just this before."""
        known = self.parts.get(part.index)
        return known is not None and _same(known, seen) and not self._is_other(part)

    def misfit(self, part: Part, seen: Seen, most_bytes: int) -> str:
        """Why this cannot be one of its parts; empty if it can."""
        if self._is_other(part):
            return "parts of one id tell different numbers of parts or digests"
        if part.index in self.parts:
            return f"part {part.index + 1} of {part.count} came twice with other bytes"
        if self.parts and next(iter(self.parts.values())).key != seen.key:
            return "parts of one id have different keys"
        if self.size + seen.size > most_bytes:
            return f"the message is larger than {most_bytes:,} bytes (parts.memory_mb)"
        return ""

    def _is_other(self, part: Part) -> bool:
        return (part.count, part.digest) != (self.count, self.digest)


_Key = tuple[int, str]  # raw partition and id: parts in other partitions have no order among each other


class Parts:
    """Give it every part in the order of its partition. No message may have more bytes, and no more may lack parts."""

    def __init__(self, most_bytes: int, most_messages: int) -> None:
        self._most_bytes, self._most_messages = most_bytes, most_messages
        self._marks: dict[int, tuple[int, int]] = {}  # raw partition → highest offset seen, newest arrival
        self._open: dict[_Key, _Open] = {}  # the oldest first
        self._over: dict[_Key, None] = {}
        self._held = 0

    def take(self, seen: Seen) -> Iterator[Outcome]:
        """What the part brings about: nothing, a whole message, or messages that can never be whole."""
        if self._is_repeated(seen):
            return
        part = parse_part(seen.part)
        if part is None:
            yield Bad((seen,), f"the header {seen.part[:100]!r} is none of a part")
            return
        key = (seen.raw_partition, part.id)
        if key in self._over and not seen.redriven:
            return
        yield from self._put(key, part, seen)
        while self._held > MOST_PARTS or len(self._open) > self._most_messages:
            oldest = self._close(next(iter(self._open)))
            yield Bad(oldest.in_order, f"{_lacks(oldest)} when there was no room for more")

    def seen(self) -> dict[int, int]:
        """The highest offset of each raw partition of which a part has come."""
        return {partition: offset for partition, (offset, _) in self._marks.items()}

    def overdue(self, before_ms: int) -> list[_Key]:
        """The messages that got no part since then."""
        return [key for key, each in self._open.items() if each.touched_ms < before_ms]

    def give_up(self, keys: Iterable[_Key]) -> list[Bad]:
        return [Bad(message.in_order, _lacks(message)) for message in map(self._close, keys)]

    def as_state(self) -> dict[str, Any]:
        """To be written as JSON."""
        return {
            "marks": [[partition, *mark] for partition, mark in self._marks.items()],
            "open": [
                [*key, each.count, each.digest, [[index, *seen] for index, seen in each.parts.items()]]
                for key, each in self._open.items()
            ],
            "over": [list(key) for key in self._over],
        }

    @classmethod
    def of_state(cls, state: dict[str, Any], most_bytes: int, most_messages: int) -> "Parts":
        parts = cls(most_bytes, most_messages)
        parts._marks = {partition: (offset, received) for partition, offset, received in state["marks"]}
        for partition, name, count, digest, found in state["open"]:
            message = parts._open[partition, name] = _Open(count, digest)
            for index, *seen in found:
                message.put(index, Seen(*seen))
                parts._held += 1
        parts._over = dict.fromkeys((partition, name) for partition, name in state["over"])
        return parts

    def _is_repeated(self, seen: Seen) -> bool:
        """Whether `normalise` has passed it on before. A lower offset that arrived later is of a raw topic made anew."""
        offset, received = self._marks.get(seen.raw_partition, (-1, -1))
        if seen.raw_offset <= offset and seen.received_ms <= received:
            return True
        self._marks[seen.raw_partition] = seen.raw_offset, max(seen.received_ms, received)
        return False

    def _put(self, key: _Key, part: Part, seen: Seen) -> Iterator[Outcome]:
        message = self._open.setdefault(key, _Open(part.count, part.digest))
        if message.has(part, seen):
            return
        if why := message.misfit(part, seen, self._most_bytes):
            yield Bad((*self._close(key).in_order, seen), why)
            return
        message.put(part.index, seen)
        self._held += 1
        if len(message.parts) == message.count:
            yield self._finish(key, seen)

    def _finish(self, key: _Key, last: Seen) -> Whole:
        message = self._close(key)
        self._over.pop(key, None)
        self._over[key] = None
        while len(self._over) > REMEMBERED:
            del self._over[next(iter(self._over))]
        return Whole(message.in_order, last)

    def _close(self, key: _Key) -> _Open:
        message = self._open.pop(key)
        self._held -= len(message.parts)
        return message


def _same(one: Seen, other: Seen) -> bool:
    return (one.key, one.bytes, one.size) == (other.key, other.bytes, other.size)


def _lacks(message: _Open) -> str:
    return f"{message.count - len(message.parts)} of {message.count} parts did not come"
