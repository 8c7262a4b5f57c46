"""Up to which time all that arrived is in the lake: only then does a meter's silence mean that the meter is silent.

Nothing is ever "caught up" while meters send. So a probe notes where the raw topic ends at some moment, and follows the
records before those ends through the pipeline: each becomes a reading, a dead letter, or waits in the side topic; then what
the side query has made of it, and what the lake takes from `readings`. When all of it is through, the moment of the probe
is the watermark. A probe begins at every look and many are under way at once, so that a meter that is silent waits for
the pipeline once. A partition in which nothing comes is through at once, one that is behind holds the watermark back.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import KafkaException

from strom.errors import StromError
from strom.pipeline.positions import Offsets, Queries, ends_of, position, reached
from strom.pipeline.raw_progress import RawProgress
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client

# Behind an outage of Kafka: what the doors still hold has arrived, but is not in the raw topic. At a start they may have just
# begun as well, and whoever sends has yet to find them.
OUTAGE_SECONDS = 30.0
_MOST_PROBES = 64  # that wait in one stage
_STILL_SECONDS = 180.0  # without any progress: longer than a batch
_TELL_SECONDS = 60.0
_NAMED = 3  # partitions, of those that are behind

log = logging.getLogger(__name__)


@dataclass
class _Stage:
    """Probes that wait until a topic is through up to the ends that each has noted: moments in epoch ms, the oldest first."""

    topic: str
    taker: str  # who is to take these records in
    waiting: deque[tuple[int, Offsets]] = field(default_factory=deque)
    found: Offsets = field(default_factory=dict)  # how far it was at the last look

    def add(self, at_ms: int, ends: Offsets) -> None:
        """Where too many wait, in the place of the last one: the older ones are through sooner."""
        if len(self.waiting) >= _MOST_PROBES:
            self.waiting.pop()
        self.waiting.append((at_ms, ends))

    def look(self, found: Offsets | None) -> int | None:
        """The newest moment that is through, if any is; those before it are so with it. None: nobody takes it in."""
        self.found = found or {}
        for place in reversed(range(len(self.waiting))):
            at_ms, ends = self.waiting[place]
            if found is None or reached(found, ends):
                for _ in range(place + 1):
                    self.waiting.popleft()
                return at_ms
        return None

    @property
    def lack(self) -> str:
        """What the oldest probe waits for; nothing if none does."""
        if not self.waiting:
            return ""
        behind = [
            f"{self.topic}/{part} (at {at} of {end})"
            for part, end in sorted(self.waiting[0][1].items())
            if (at := self.found.get(part, 0)) < end
        ]
        more = f" and {len(behind) - _NAMED} partitions more" if len(behind) > _NAMED else ""
        return f"{self.taker} has still to take in {', '.join(behind[:_NAMED])}{more}"


class ArrivalWatermark:
    """`advance` often; the times are epoch ms, None while nothing is known.

    `side_ms`: all that arrived before has been seen by the side query. `readings_ms`: and is in the lake.
    """

    def __init__(
        self,
        settings: Settings,
        seen_aside: Callable[[], Offsets] = dict,
        clock: Callable[[], float] = time.monotonic,
        first_pause: float = 0.0,
    ) -> None:
        """`seen_aside`: the last raw offsets that the side query has seen. `first_pause`: seconds before the first probe."""
        self._clock = clock
        self.side_ms: int | None = None
        self.readings_ms: int | None = None
        self._settings = settings
        self._client = admin_client(settings)
        self._progress = RawProgress(settings, self._client, seen_aside)
        self._passed: Offsets = {}  # of the raw topic, as of the last look
        self._raw = _Stage(topics.RAW, "normalise")
        self._side = _Stage(topics.SIDE, "the side query")
        self._readings = _Stage(topics.READINGS, "the query on readings")
        self._pause_until = clock() + first_pause
        self._still = _Still(clock)

    def advance(self, now_ms: int, queries: Queries) -> None:
        """Raises StromError while Kafka or Postgres is away."""
        if self._clock() < self._pause_until:
            return
        try:
            self._advance(now_ms, queries)
        except (StromError, KafkaException):
            for stage in (self._raw, self._side, self._readings):
                stage.waiting.clear()
            self._pause_until = self._clock() + OUTAGE_SECONDS
            self._still.note(None, "")
            raise
        lacks = (stage.lack for stage in (self._readings, self._side, self._raw))
        self._still.note(self.readings_ms, next(filter(None, lacks), ""))

    def _advance(self, now_ms: int, queries: Queries) -> None:
        """Each stage's ends are noted when those before it are through."""
        self._raw.add(now_ms, self._ends(topics.RAW))
        # What the last look told: others of the same raw partition may have been on their way to other partitions then.
        passed, self._passed = self._passed, self._progress.passed(queries)
        if (through := self._raw.look(passed)) is not None:
            self._side.add(through, self._ends(topics.SIDE))
        side = None if queries.side is None else position(queries.side, topics.SIDE)
        if (through := self._side.look(side)) is not None:
            self.side_ms = through
            self._readings.add(through, self._ends(topics.READINGS))
        store = None if queries.store is None else position(queries.store, topics.READINGS)
        if (through := self._readings.look(store)) is not None:
            self.readings_ms = through

    def _ends(self, topic: str) -> Offsets:
        return {number: end for (_, number), end in ends_of(self._settings, self._client, topic).items()}


class _Still:
    """Warns once a minute while the watermark and what it waits for stand still; in a backlog the latter moves."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: tuple[int | None, str] = None, ""
        self._since = clock()
        self._next = float("-inf")

    def note(self, watermark_ms: int | None, lack: str) -> None:
        now, state = self._clock(), (watermark_ms, lack)
        if state != self._state or not lack:
            self._state, self._since = state, now
        elif now - self._since >= _STILL_SECONDS and now >= self._next:
            self._next = now + _TELL_SECONDS
            minutes = (now - self._since) / 60
            log.warning("silences and missing parts have not been judged for %.0f min: %s", minutes, lack)
