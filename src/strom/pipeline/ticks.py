"""What time alone tells while the pipeline runs: who is silent, and which parts of large messages will not come any more.

Both are told as of the arrival watermark, not as of the clock: what arrived before it has been seen, whatever keeps coming.
"""

import logging

from strom.errors import StromError
from strom.pipeline.arrival_watermark import OUTAGE_SECONDS, ArrivalWatermark
from strom.pipeline.positions import Queries
from strom.pipeline.side_job import SideJob
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings

log = logging.getLogger(__name__)


class Ticks:
    def __init__(self, settings: Settings, store: StoreJob | None, side: SideJob | None) -> None:
        self._store, self._side = store, side
        seen = dict if side is None else side.seen
        self._watermark = ArrivalWatermark(settings, seen, first_pause=OUTAGE_SECONDS)

    def tick(self, now_ms: int, queries: Queries) -> None:
        """What cannot be told now can wait until Postgres and Kafka are there again."""
        try:
            self._watermark.advance(now_ms, queries)
        except StromError as error:
            log.warning("silences and missing parts are judged later: %s", error)
        try:
            if self._side is not None and self._watermark.side_ms is not None:
                self._side.expire(self._watermark.side_ms)
            if self._store is not None and queries.store is not None:
                self._store.tick(self._watermark.readings_ms)
                self._store.strangers.look(queries.store)
        except StromError as error:
            log.warning("what time alone tells is told later: %s", error)
