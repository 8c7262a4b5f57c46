"""What time alone tells while the pipeline runs: who is silent, and which parts of large messages will not come any more.

Both can be told only when what was sent has been read; the clock is given by whoever ticks.
"""

import logging

from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline.progress import CaughtUp, Ends
from strom.pipeline.side_job import SideJob
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.streams import topics

log = logging.getLogger(__name__)


class Ticks:
    """Made before the queries begin: what is waiting then is their backlog."""

    def __init__(self, settings: Settings, store: StoreJob | None, side: SideJob | None) -> None:
        self._store, self._side = store, side
        self._ends = Ends(settings)
        self._caught_up = CaughtUp(settings) if store is not None else None

    def tick(
        self,
        now_ms: int,
        raw: StreamingQuery | None,
        side: StreamingQuery | None,
        store: StreamingQuery | None,
    ) -> None:
        """What cannot be told now can wait until Postgres and Kafka are there again."""
        try:
            if self._side is not None and side is not None:
                self._expire(self._side, now_ms, raw, side)
            if self._store is not None and store is not None and self._caught_up is not None:
                self._store.strangers.look(store)
                self._store.tick(now_ms if self._caught_up.tells(raw, side, store) else None)
        except StromError as error:
            log.warning("silences and missing parts are judged later: %s", error)

    def _expire(self, job: SideJob, now_ms: int, raw: StreamingQuery | None, side: StreamingQuery) -> None:
        if (
            job.has_overdue(now_ms)
            and (self._caught_up is None or self._caught_up.is_past_backlog(raw))
            and self._ends.are_reached(side, topics.SIDE)
        ):
            job.expire(now_ms)
