"""Which partitions a reader reads, and where it begins and ends in each; finds topics and partitions made later.

It asks Kafka about topics and offsets and reads no record.
"""

import time
from collections.abc import Sequence

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.admin import admin_client
from strom.streams.offsets import Partition, all_topics, find_topics, matching, partitions_of
from strom.streams.start import EARLIEST, LATEST, Start, resolve

LOOK_SECONDS = 5.0  # between two looks for what was made since
_PATIENCE = 2.0  # for an answer to such a look: the next one comes soon


class Reach:
    def __init__(
        self, settings: Settings, names: Sequence[str], pattern: str | None, start: Start, *, until_end: bool
    ) -> None:
        self.begin: dict[Partition, int] = {}
        self._settings = settings
        self._names = list(names)
        self.pattern = pattern
        self._start = start
        self.until_end = until_end
        self._end: dict[Partition, int] = {}
        self._ended: set[Partition] = set()
        self._admin = admin_client(settings)
        self._look_at = time.monotonic() + LOOK_SECONDS
        # Each with the number of partitions that are known.
        self.topics = find_topics(settings, self._admin, names, pattern, may_come=not until_end)

    @property
    def partitions(self) -> list[Partition]:
        return partitions_of(self.topics)

    def measure(self) -> None:
        """Find out where each partition begins and ends now."""
        self._measure(self.partitions, self._start)

    def look(self) -> list[Partition]:
        """Now and then: the partitions that were made since. All that is in them came after the start."""
        now = time.monotonic()
        if self.until_end or now < self._look_at:
            return []
        known = set(self.partitions)
        try:
            there = all_topics(self._settings, self._admin, _PATIENCE)
            wanted = [*self._names, *(matching(self.pattern, there) if self.pattern is not None else ())]
            topics = self.topics | {name: there[name] for name in wanted if name in there}
            fresh = [place for place in partitions_of(topics) if place not in known]
            self._measure(fresh, EARLIEST if self._start == LATEST else self._start)
            self.topics = topics
        except StromError:
            return []  # the broker is away for a while
        finally:
            self._look_at = time.monotonic() + LOOK_SECONDS
        return fresh

    def offsets(self, partitions: list[Partition], start: Start) -> dict[Partition, int]:
        found = resolve(self._settings, self._admin, partitions, start)
        return {place: begin for place, (begin, _) in found.items()}

    def move(self, place: Partition, begin: int) -> None:
        """Reading goes on there."""
        self.begin[place] = begin
        self._ended.discard(place)
        if begin >= self._end.get(place, begin + 1):
            self._ended.add(place)

    def note_end(self, place: Partition) -> None:
        self._ended.add(place)

    def forget_ends(self) -> None:
        self._ended.clear()

    def have_ended(self, partitions: set[Partition]) -> bool:
        return self.until_end and self._ended.issuperset(partitions)

    def holds(self, place: Partition, offset: int) -> bool:
        """Whether a record is before the end; the last one that is ends its partition."""
        if not self.until_end or place not in self._end:
            return True
        if offset >= self._end[place] - 1:
            self._ended.add(place)
        return offset < self._end[place]

    def _measure(self, places: list[Partition], start: Start) -> None:
        for place, (begin, end) in resolve(self._settings, self._admin, places, start).items():
            self.begin[place], self._end[place] = begin, end
            if begin >= end:
                self._ended.add(place)
