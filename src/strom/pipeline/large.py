"""Sends on what became of parts: the reading that a whole message says, or all of its parts to the dead letter, as they came.

The bytes are read again from where the parts stand, one message at a time.
"""

import logging
import re
from collections.abc import Mapping, Sequence

from strom.devices.registry import Dialect
from strom.domain.reading import BAD_CHUNK
from strom.pipeline.decoding import Decoded, decoded, decoders_of
from strom.pipeline.message import OTHER_SOURCE, SOURCE_PATTERN
from strom.pipeline.outbox import Outbox
from strom.pipeline.parts import Bad, Outcome, Seen, Whole
from strom.settings import Settings
from strom.streams import topics
from strom.streams.chunks import BadPartsError, Part, join, parse_part
from strom.streams.places import Places
from strom.streams.record import Record

_READING_BYTES = topics.MAX_MESSAGE_BYTES - 64 * 1024  # with its key and headers it must fit the topic

log = logging.getLogger(__name__)


class LargeMessages:
    def __init__(self, settings: Settings, dialects: Mapping[str, Dialect]) -> None:
        self._decoders = decoders_of(dialects)
        self._places = Places(settings, topics.SIDE)
        # What came compressed may be larger than what the topic takes; the broker judges it as it is sent.
        self._outbox = Outbox(settings, **{"message.max.bytes": 16 * topics.MAX_MESSAGE_BYTES})

    def send(self, outcome: Outcome) -> None:
        """Returns when Kafka has it."""
        records = self._records(outcome.parts)
        found = self._judged(outcome, records)
        if isinstance(outcome, Whole) and found.reason is None:
            self._send_reading(outcome.last, records[0], found)
        else:
            self._send_letters(records, found)
        self._outbox.confirm()

    def close(self) -> None:
        self._places.close()

    def _records(self, parts: Sequence[Seen]) -> list[Record]:
        """Those of the parts that are still there."""
        found = list(self._places.records((each.partition, each.offset) for each in parts))
        wanted = {raw_origin(each) for each in parts}
        kept = [record for record in found if record.header(topics.HEADER_ORIGIN) in wanted]
        if len(kept) < len(parts):
            lost = len(parts) - len(kept)
            log.warning("%d parts of a large message are no longer in %s", lost, topics.SIDE)
        return kept

    def _judged(self, outcome: Outcome, records: Sequence[Record]) -> Decoded:
        if isinstance(outcome, Bad):
            return Decoded(BAD_CHUNK, outcome.why)
        try:
            value = join(_pieces(records))
        except BadPartsError as error:
            return Decoded(BAD_CHUNK, error.what)
        first = records[0]
        found = decoded(
            self._decoders,
            value,
            first.header(topics.HEADER_DIALECT),
            outcome.parts[0].received_ms,
            _source(first),
            first.header(topics.HEADER_TOPIC),
        )
        if found.reason is not None:
            return found._replace(detail=f"put together from {len(records)} parts: {found.detail}")
        if len(found.reading or b"") > _READING_BYTES:
            return Decoded(
                BAD_CHUNK, f"the reading is larger than {_READING_BYTES:,} bytes, which no topic takes"
            )
        return found

    def _send_reading(self, last: Seen, first: Record, found: Decoded) -> None:
        """In the order of the parts that came last: so the origins of a raw partition only grow."""
        headers = [
            (topics.HEADER_ORIGIN, f"{topics.WAY_PARTS}/{last.raw_partition}/{last.raw_offset}".encode())
        ]
        published = first.header(topics.HEADER_PUBLISHED)
        if published is not None:
            headers.append((topics.HEADER_PUBLISHED, published.encode()))
        self._outbox.send(topics.READINGS, (found.meter or "").encode(), found.reading, headers)

    def _send_letters(self, records: Sequence[Record], found: Decoded) -> None:
        why = [
            (topics.HEADER_REASON, (found.reason or "").encode()),
            (topics.HEADER_DETAIL, (found.detail or "").encode()),
        ]
        for record in records:
            self._outbox.send(topics.DEAD_LETTER, record.key, record.value, [*record.headers, *why])


def raw_origin(seen: Seen) -> str:
    return f"{topics.RAW}/{seen.raw_partition}/{seen.raw_offset}"


def _pieces(records: Sequence[Record]) -> list[tuple[Part, bytes]]:
    parsed = [(parse_part(record.header(topics.HEADER_PART)), record.value or b"") for record in records]
    return [(part, piece) for part, piece in parsed if part is not None]


def _source(record: Record) -> str:
    told = record.header(topics.HEADER_SOURCE) or ""
    return told if re.fullmatch(SOURCE_PATTERN, told) else OTHER_SOURCE
