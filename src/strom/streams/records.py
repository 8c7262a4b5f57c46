"""Reads records from topics, one after the other; what a record means is for its reader to know.

with Records(settings, [RAW], start=EARLIEST, until_end=True) as records:
    for record in records: …
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Self

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.client import ANSWER_SECONDS, no_answer
from strom.streams.offsets import Partition
from strom.streams.reach import Reach
from strom.streams.record import Record
from strom.streams.start import LATEST, AnyStart, as_start
from strom.streams.subscription import Subscription

_POLL_SECONDS = 0.2  # how soon a reader that waits notices `stop`
_AT_ONCE = 500  # records that one trip to another thread brings to an async reader


class Records:
    """An iterator over records as they lie; without a group it reads every partition and leaves no trace at the broker.

    With a group it goes on where the group has committed, and begins at `start` where it has not. A record
    counts as done, and is committed, when the next one is asked for; without `auto_commit` by `commit` alone.
    With a pattern it also reads topics that are made later. It is for `with` and `for`, or `async with` and `async for`.
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
    ) -> None:
        self._settings = settings
        self._group = group
        self._stores = group is not None and auto_commit
        self._count = count
        self._taken = 0
        self._stopping = False
        self._opened = False
        self._ready: deque[Record] = deque()
        self._handed: Record | None = None  # what its reader works on
        self._resume: dict[Partition, int] = {}  # where the group would go on after all that was handed out
        self._one = threading.RLock()  # the client is asked by one thread at a time
        names = [topics] if isinstance(topics, str) else topics
        begin = as_start(start, settings.page.timezone)
        self._reach = Reach(settings, names, pattern, begin, until_end=until_end)
        self._line = Subscription(settings, self._reach, group, self._let_go, auto_commit=auto_commit)

    @property
    def topics(self) -> list[str]:
        """Those that are read at this moment."""
        return [*self._reach.topics]

    def __enter__(self) -> Self:
        self._line.open()
        self._opened = True
        return self

    def __exit__(self, *_: object) -> None:
        with self._one:
            self._line.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.__exit__)

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        self._settle()
        while not self._is_over():
            if self._ready:
                return self._hand_out()
            self._gather(1)
        raise StopIteration

    async def __anext__(self) -> Record:
        self._settle()
        while not self._is_over():
            if self._ready:
                return self._hand_out()
            await asyncio.to_thread(self._gather, _AT_ONCE)
        raise StopAsyncIteration

    def stop(self) -> None:
        """End the iteration soon; may be called from a signal handler or another thread."""
        self._stopping = True

    def commit(self, record: Record | None = None) -> None:
        """Wait until the group goes on after this record, or after all that were handed out: they are done."""
        if self._group is None:
            raise StromError("Only a group keeps its place: give the consumer a group, or do not commit.")
        places = self._resume if record is None else {(record.topic, record.partition): record.resume_at}
        with self._one:
            self._line.commit(places)

    def seek(self, start: AnyStart, topic: str | None = None, partition: int | None = None) -> None:
        """Go on elsewhere, at an offset or a time: in one topic, in one partition, or in all that is read here."""
        wanted = as_start(start, self._settings.page.timezone)
        with self._one:
            places = [
                place
                for place in self._assigned()
                if topic in (None, place[0]) and partition in (None, place[1])
            ]
            if not places:
                which = "" if partition is None else f", partition {partition}"
                raise StromError(f"Nothing is read here of {topic or 'any topic'}{which}; seek what is read.")
            for place, offset in self._reach.offsets(places, wanted).items():
                self._line.seek(place, offset)

    def _assigned(self) -> set[Partition]:
        """Which partitions are read here; a group may take a moment to tell."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while not (found := self._line.assigned):
            if time.monotonic() > deadline:
                raise no_answer(self._settings, f"the group {self._group} has no partition for this consumer")
            self._gather(1)
        return found

    def _settle(self) -> None:
        """What was handed out last is done."""
        if not self._opened:
            raise StromError("A consumer reads within a block: `with Consumer(…) as consumer:`.")
        record, self._handed = self._handed, None
        if record is not None and self._stores:
            self._line.store((record.topic, record.partition), record.resume_at)

    def _hand_out(self) -> Record:
        self._handed = record = self._ready.popleft()
        self._resume[record.topic, record.partition] = record.resume_at
        self._taken += 1
        return record

    def _is_over(self) -> bool:
        if self._stopping or self._taken == self._count:
            return True
        if self._ready or not self._is_at_end():
            return False
        self._on_end()
        return True

    def _is_at_end(self) -> bool:
        mine = self._line.assigned
        return (bool(mine) or self._group is None) and self._reach.have_ended(mine)

    def _gather(self, most: int) -> None:
        """Wait a little for a record, and take those that are there, up to so many."""
        with self._one:
            record = self._line.poll(_POLL_SECONDS)
            while record is not None:
                self._take(record)
                record = self._line.poll(0) if len(self._ready) < most else None
            self._line.look()

    def _take(self, record: Record) -> None:
        """A record has come."""
        self._ready.append(record)

    def _let_go(self, place: Partition) -> None:
        """This partition is read by another one now, or from elsewhere."""
        self._ready = deque(each for each in self._ready if (each.topic, each.partition) != place)
        self._resume.pop(place, None)
        if self._handed is not None and (self._handed.topic, self._handed.partition) == place:
            self._handed = None

    def _on_end(self) -> None:
        """All has been read."""
