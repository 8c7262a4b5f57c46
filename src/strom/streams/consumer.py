"""Reads messages from topics: records, those that were sent in parts as one.

A group commits no further than the first part of the oldest message that is not whole: after a restart its parts come
again, and with them what came since. What cannot become whole is told, counted and passed over.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from strom.settings import Settings
from strom.streams.assembler import Assembler, PartCounters, Trouble
from strom.streams.chunks import parse_part
from strom.streams.offsets import Partition
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import LATEST, AnyStart
from strom.streams.topics import HEADER_PART

LOG = logging.getLogger("strom.streams")


def _log(trouble: Trouble) -> None:
    LOG.warning("%s", trouble)


class Consumer(Records):
    """As `Records`, with large messages put together; `on_trouble` hears of those that could not be.

    with Consumer(load_settings(), ["readings"], group="mine") as consumer:
        for record in consumer: …
    """

    def __init__(
        self,
        settings: Settings,
        topics: Sequence[str] | str = (),
        *,
        pattern: str | None = None,
        start: AnyStart = LATEST,
        group: str | None = None,
        auto_commit: bool = True,
        until_end: bool = False,
        count: int | None = None,
        on_trouble: Callable[[Trouble], None] = _log,
    ) -> None:
        super().__init__(
            settings,
            topics,
            pattern=pattern,
            start=start,
            group=group,
            auto_commit=auto_commit,
            until_end=until_end,
            count=count,
        )
        self._assembler = Assembler(
            most_bytes=settings.parts.memory_bytes,
            most_messages=settings.parts.unfinished,
            wait_seconds=settings.parts.wait_seconds,
            on_trouble=lambda trouble: self.on_trouble(trouble),
        )
        self.on_trouble = on_trouble

    @property
    def counters(self) -> PartCounters:
        """How many messages came in parts, and what became of them."""
        return self._assembler.counters

    def _gather(self, most: int) -> None:
        super()._gather(most)
        self._assembler.expire(time.monotonic())

    def _take(self, record: Record) -> None:
        place = (record.topic, record.partition)
        whole = record if record.header(HEADER_PART) is None else self._add(place, record)
        if whole is not None:
            floor = self._assembler.floor(place)
            super()._take(whole if floor is None else replace(whole, resume_at=floor))

    def _add(self, place: Partition, record: Record) -> Record | None:
        """The whole message, if this was its last part."""
        part = parse_part(record.header(HEADER_PART))
        if part is None:
            self._assembler.refuse(place, record.offset, f"its header {HEADER_PART} is none of a part")
            return None
        value = self._assembler.add(place, record.offset, part, record.value or b"", time.monotonic())
        if value is None:
            return None
        headers = tuple(each for each in record.headers if each[0] != HEADER_PART)
        return replace(record, value=value, headers=headers, parts=part.count)

    def _let_go(self, place: Partition) -> None:
        super()._let_go(place)
        self._assembler.forget(place)

    def _on_end(self) -> None:
        self._assembler.finish()
