"""Up to which time all that arrived is in the lake: only then does a meter's silence mean that the meter is silent.

Nothing is ever "caught up" while meters send. So a probe notes where the raw topic ends at some moment, and follows the
records before those ends through the pipeline: each becomes a reading, a dead letter, or waits in the side topic; then what
the side query has made of it, and what the lake takes from `readings`. When all of it is through, the moment of the probe
is the watermark, and the next probe begins. A partition in which nothing comes is through at once, one that is behind
holds the watermark back.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException

from strom.errors import StromError
from strom.pipeline.positions import Offsets, Queries, ends_of, position, reached
from strom.pipeline.raw_progress import RawProgress
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client

_OUTAGE_SECONDS = (
    30.0  # behind an outage of Kafka: what the doors still hold has arrived, but is not in the raw topic
)


@dataclass
class _Probe:
    """`at_ms`: its moment. The ends that are to be reached, each noted when those before it were."""

    at_ms: int
    raw: Offsets
    side: Offsets | None = None
    readings: Offsets | None = None


class ArrivalWatermark:
    """`advance` often; the times are epoch ms, None while nothing is known.

    `side_ms`: all that arrived before has been seen by the side query. `readings_ms`: and is in the lake.
    """

    def __init__(
        self,
        settings: Settings,
        seen_aside: Callable[[], Offsets] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`seen_aside`: the last raw offsets that the side query has seen."""
        self._clock = clock
        self.side_ms: int | None = None
        self.readings_ms: int | None = None
        self._settings = settings
        self._client = admin_client(settings)
        self._raw = RawProgress(settings, self._client, seen_aside)
        self._probe: _Probe | None = None
        self._pause_until = float("-inf")

    def advance(self, now_ms: int, queries: Queries) -> None:
        """Raises StromError while Kafka or Postgres is away."""
        if self._clock() < self._pause_until:
            return
        try:
            self._advance(now_ms, queries)
        except (StromError, KafkaException):
            self._probe = None
            self._pause_until = self._clock() + _OUTAGE_SECONDS
            raise

    def _advance(self, now_ms: int, queries: Queries) -> None:
        probe = self._probe = self._probe or _Probe(now_ms, self._ends(topics.RAW))
        if probe.side is None and reached(self._raw.passed(queries), probe.raw):
            probe.side = self._ends(topics.SIDE)
        if probe.side is None:
            return
        if probe.readings is None and (
            queries.side is None or reached(position(queries.side, topics.SIDE), probe.side)
        ):
            self.side_ms = probe.at_ms
            probe.readings = self._ends(topics.READINGS)
        if probe.readings is None:
            return
        if queries.store is None or reached(position(queries.store, topics.READINGS), probe.readings):
            self.readings_ms = probe.at_ms
            self._probe = None

    def _ends(self, topic: str) -> Offsets:
        return {number: end for (_, number), end in ends_of(self._settings, self._client, topic).items()}
