"""Batches as a broker keeps them: read from its files, for no client tells how they came."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from strom.settings import Settings
from strom.stack.kafka import Kafka
from strom.streams.record import Record

# Of a batch: base offset, length of what follows, leader epoch, magic, checksum, attributes, last offset's distance.
_HEADER = struct.Struct(">qiibIhi")
_BEFORE_LENGTH = 12  # bytes that the length does not count
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # by the lowest three bits of the attributes


class Batch(NamedTuple):
    first: int
    records: int
    compression: str


def batches_of(settings: Settings, records: Sequence[Record]) -> list[Batch]:
    """Those that hold these records, at the one broker of a stack."""
    found: dict[tuple[str, int], list[int]] = {}
    for record in records:
        found.setdefault((record.topic, record.partition), []).append(record.offset)
    (broker,) = Kafka.all_of(settings)
    assert isinstance(broker, Kafka)
    return [
        batch
        for (topic, partition), offsets in found.items()
        for batch in _batches(broker.data / f"{topic}-{partition}")
        if any(batch.first <= offset < batch.first + batch.records for offset in offsets)
    ]


def _batches(folder: Path) -> Iterator[Batch]:
    for segment in sorted(folder.glob("*.log")):
        data = segment.read_bytes()
        place = 0
        while place + _HEADER.size <= len(data):
            first, length, _, magic, _, attributes, distance = _HEADER.unpack_from(data, place)
            if length <= 0:
                break  # room that the broker has set aside
            assert magic == 2
            yield Batch(first, distance + 1, _CODECS[attributes & 7])
            place += _BEFORE_LENGTH + length
