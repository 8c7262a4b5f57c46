"""Takes in micro-batches of the side topic: whole messages are decoded on the executors, parts of large ones gathered here.

Every batch can be repeated: the state before it is written down, and what comes of it carries the place of its raw
record, by which a repeat is told.
"""

import logging
import threading
from collections.abc import Sequence
from functools import cached_property

from pyspark.sql import DataFrame, Row, SparkSession

from strom.devices.registry import dialects_of
from strom.pipeline.batch_states import BatchStates
from strom.pipeline.large import LargeMessages
from strom.pipeline.parts import Parts, Seen
from strom.pipeline.side import looked_through, whole_messages
from strom.pipeline.sink import sink_options
from strom.pipeline.stages import SIDE
from strom.rate_limited_log import RateLimitedLog
from strom.settings import Settings
from strom.streams import topics

_LAST = 2**62  # after every batch
_LINGER_MS = 20

log = logging.getLogger(__name__)


class SideJob:
    """`process` and `expire` may be called from different threads."""

    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self._settings = settings
        self._dialects = dialects_of(settings)
        self._states = BatchStates(spark, f"{settings.checkpoint_root}/{SIDE}/parts")
        self._lock = threading.Lock()
        self._parts: Parts | None = None  # as they are after the batch of this number
        self._batch = -1
        self._log = RateLimitedLog(log)

    def process(self, batch: DataFrame, number: int) -> None:
        """Take in one micro-batch; repeated, it sends the same again."""
        with self._lock:
            (found,) = looked_through(batch).collect()
            if found.foreign:
                self._tell_of(found.foreign)
            if found.whole:  # parts alone need no Python on the executors
                self._write(whole_messages(batch, self._dialects))
            if found.parts:
                self._gather(sorted(Seen(*row) for row in found.parts), number)

    def seen(self) -> dict[int, int]:
        """The last raw offset of each partition of which a part was seen; nothing while a batch is under way."""
        if not self._lock.acquire(blocking=False):
            return {}
        try:
            return self._newest().seen()
        finally:
            self._lock.release()

    def expire(self, watermark_ms: int) -> None:
        """Give up messages whose parts have not come for too long: all that arrived before the watermark has been seen.

        While a batch is under way that can wait.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            parts = self._newest()
            waited = round(self._settings.parts.wait_seconds * 1000)
            if overdue := parts.overdue(watermark_ms - waited):
                self._parts = None
                for bad in parts.give_up(overdue):
                    self._large.send(bad)
                self._keep(parts, self._batch)
        finally:
            self._lock.release()

    def close(self) -> None:
        if "_large" in self.__dict__:
            self._large.close()

    @cached_property
    def _large(self) -> LargeMessages:
        """Nobody needs it while there are no parts."""
        return LargeMessages(self._settings, self._dialects)

    def _write(self, records: DataFrame) -> None:
        records.write.format("kafka").options(**sink_options(self._settings, _LINGER_MS)).save()

    def _gather(self, seen: Sequence[Seen], number: int) -> None:
        """In the order of their places, so that the same comes of a batch that is repeated."""
        parts, self._parts = self._before(number), None
        for each in seen:
            for outcome in parts.take(each):
                self._large.send(outcome)
        self._keep(parts, number)

    def _keep(self, parts: Parts, number: int) -> None:
        self._states.save(number, parts.as_state())
        self._parts, self._batch = parts, number

    def _before(self, number: int) -> Parts:
        if self._parts is not None and self._batch < number:
            return self._parts
        limits = self._settings.parts.memory_bytes, self._settings.parts.unfinished
        found = self._states.before(number)
        return Parts(*limits) if found is None else Parts.of_state(found[1], *limits)

    def _newest(self) -> Parts:
        if self._parts is None:
            found = self._states.before(_LAST)
            self._batch = -1 if found is None else found[0]
            self._parts = self._before(_LAST)
        return self._parts

    def _tell_of(self, rows: Sequence[Row]) -> None:
        first = min((row.partition, row.offset) for row in rows)
        self._log.warning(
            "%s records in %s were not written by normalise and were left out, the first one at %s/%d/%d; "
            "send messages to %s instead",
            f"{len(rows):,}",
            topics.SIDE,
            topics.SIDE,
            *first,
            topics.RAW,
        )
