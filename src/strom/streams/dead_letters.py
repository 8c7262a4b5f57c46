"""What could not be read: finds it again, each message once.

`normalise` repeats what it did last when it starts again, and so there may be copies of a dead letter. They have its
origin and its bytes; the first one counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from strom.domain import values
from strom.domain.values import topic_name
from strom.settings import Settings
from strom.streams import topics
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST, Kind, Start

_EPOCH_MS = re.compile("[0-9]{1,15}")
IDENTITY_BYTES = 16  # there may be millions
CLOCKS_MS = 60_000  # how far two machines' clocks may be apart


@dataclass(frozen=True)
class DeadLetter:
    record: Record

    @property
    def place(self) -> str:
        """What names it: partition/offset in the dead-letter topic."""
        return f"{self.record.partition}/{self.record.offset}"

    @property
    def identity(self) -> bytes:
        """The same for a letter and its copies.

        The origin alone would not do: in a raw topic that was made anew the offsets begin again.
        """
        record = self.record
        origin = record.header(topics.HEADER_ORIGIN)
        if origin is None:
            return _digest(self.place.encode())
        received = record.header(topics.HEADER_RECEIVED) or ""
        return _digest(origin.encode(), received.encode(), record.key or b"", record.value or b"")

    @property
    def rank(self) -> int:
        """Of a letter and its copies the first has the lowest; one number takes less room than three."""
        return (self.record.at_ms or 0) << 96 | self.record.partition << 64 | self.record.offset

    @property
    def reason(self) -> str:
        return self.record.header(topics.HEADER_REASON) or ""

    @property
    def detail(self) -> str:
        return self.record.header(topics.HEADER_DETAIL) or ""

    @property
    def arrived_ms(self) -> int:
        """As the door says, or Kafka where no door can have said that."""
        told = self.record.header(topics.HEADER_RECEIVED) or ""
        found = int(told) if _EPOCH_MS.fullmatch(told) else -1
        if values.EARLIEST_SECONDS * 1000 <= found <= values.LATEST_MS:
            return found
        return min(max(self.record.at_ms or 0, 0), values.LATEST_MS)

    @property
    def meter(self) -> str:
        """As far as the door could tell: the record's key, else the MQTT topic's last level."""
        key = (self.record.key or b"").decode(errors="replace")
        return key or topic_name(self.record.header(topics.HEADER_TOPIC)) or ""


@dataclass(frozen=True)
class Wanted:
    """Which dead letters: of any of these reasons and meters (none: of all), arrived from … until …"""

    reasons: frozenset[str] = frozenset()
    meters: frozenset[str] = frozenset()
    since_ms: int = 0
    until_ms: int = 2**62

    def holds(self, letter: DeadLetter) -> bool:
        return (
            (not self.reasons or letter.reason in self.reasons)
            and (not self.meters or letter.meter in self.meters)
            and self.since_ms <= letter.arrived_ms < self.until_ms
        )


def dead_letters(settings: Settings, wanted: Wanted) -> Iterator[DeadLetter]:
    """Those that are there now, without copies.

    Copies may lie in different partitions, which come in any order: all are looked at before the first one is told.
    """
    first: dict[bytes, int] = {}
    for letter in with_copies(settings, wanted.since_ms):
        identity, rank = letter.identity, letter.rank
        if first.setdefault(identity, rank) > rank:
            first[identity] = rank
    for letter in with_copies(settings, wanted.since_ms):
        if wanted.holds(letter) and first.get(letter.identity) == letter.rank:
            yield letter


def with_copies(settings: Settings, since_ms: int = 0) -> Iterator[DeadLetter]:
    """Every record of the topic; none is written before it arrived, so older ones need not be read."""
    start = Start(Kind.TIME, since_ms - CLOCKS_MS) if since_ms > CLOCKS_MS else EARLIEST
    with Records(settings, [topics.DEAD_LETTER], start=start, until_end=True) as records:
        yield from map(DeadLetter, records)


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=IDENTITY_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8) + part)
    return digest.digest()
