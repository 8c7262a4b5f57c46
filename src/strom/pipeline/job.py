"""The running pipeline: joins the stages to Kafka, the lake and Postgres, and watches over the queries.

`normalise` runs in Spark's real-time mode, what it passes on in small batches beside it; all stages on `readings` share
one read of the topic in micro-batches.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline.cluster import await_slots
from strom.pipeline.connect_server import connect_options, connect_server
from strom.pipeline.ending import let_finish, reason_of
from strom.pipeline.kept import Kept
from strom.pipeline.lake.upkeep import keep_up
from strom.pipeline.queries import Trigger, start_normalise, start_side, start_store
from strom.pipeline.session import build_session
from strom.pipeline.shipping import ship_decoders
from strom.pipeline.side_job import SideJob
from strom.pipeline.sql.user_queries import UserQueries
from strom.pipeline.stages import NORMALISE, QUERIES, SIDE, STAGES, STORE_STAGES, with_side
from strom.pipeline.store_job import StoreJob
from strom.pipeline.ticks import Ticks
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client, ensure_contract_topics
from strom.streams.offsets import find_topics, partitions_of

LOOK_SECONDS, TICK_SECONDS = 0.5, 5.0  # how often queries are looked at, and silences judged

log = logging.getLogger(__name__)


class Pipeline:
    """The stages as streaming queries; `run` returns when stopped, or when caught up if only that was asked for."""

    def __init__(self, settings: Settings, stages: Sequence[str] = STAGES) -> None:
        self._settings = settings
        self._stages = with_side(stages)
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run(self, on_ready: Callable[[], None] = lambda: None, *, until_caught_up: bool = False) -> bool:
        """False if it was to catch up and was stopped before."""
        more = {} if until_caught_up else connect_options(self._settings)
        spark = build_session(self._settings, "strom-pipeline", more)
        try:
            if NORMALISE in self._stages:
                ensure_contract_topics(self._settings)
            needed = 1 if until_caught_up else self._slots()
            await_slots(spark, self._settings, needed, self._stop.wait)
            if SIDE in self._stages:
                ship_decoders(spark, self._settings)
            if until_caught_up:
                return self.catch_up(spark)
            with (
                self._side_job(spark, _now_ms()) as side,
                self._store_job(spark) as store,
                self._user_queries(spark) as own,
                connect_server(spark, self._settings, needed),
            ):
                self._follow(spark, side, store, own, on_ready)
            return True
        finally:
            spark.stop()

    def _slots(self) -> int:
        """The real-time query holds a task slot for each partition for good; batches need one to get on."""
        held = len(partitions_of(find_topics(self._settings, admin_client(self._settings), [topics.RAW])))
        batches = any(stage in (SIDE, *STORE_STAGES) for stage in self._stages)
        return (held if NORMALISE in self._stages else 0) + (1 if batches else 0)

    def catch_up(self, spark: SparkSession) -> bool:
        """What is there now, and no more: first the readings, then all that is made of them. False if stopped before."""
        with self._side_job(spark) as side, self._store_job(spark) as store:
            if NORMALISE in self._stages:
                self._await_end(start_normalise(spark, self._settings, Trigger.AVAILABLE_NOW))
            if side is not None and not self._stop.is_set():
                self._await_end(start_side(spark, self._settings, side, available_now=True))
                if not self._stop.is_set():
                    side.expire(_now_ms())
            if store is not None and not self._stop.is_set():
                self._await_end(
                    start_store(spark, self._settings, store, available_now=True), store.strangers.look
                )
                store.tick(_now_ms(), not self._stop.is_set())
        return not self._stop.is_set()

    def _await_end(
        self, query: StreamingQuery, look: Callable[[StreamingQuery], None] = lambda query: None
    ) -> None:
        looked = time.monotonic()
        while query.isActive and not self._stop.wait(0.1):
            if _is_over(looked):
                looked = time.monotonic()
                look(query)
        look(query)
        if query.exception() is not None:
            raise StromError(f"the query {query.name} ended: {reason_of(query.exception())}", exit_code=1)
        if not self._stop.is_set():
            log.info("%s caught up", query.name)

    def _follow(
        self,
        spark: SparkSession,
        side: SideJob | None,
        store: StoreJob | None,
        own: UserQueries | None,
        on_ready: Callable[[], None],
    ) -> None:
        ticks = Ticks(self._settings, store, side)
        settings = self._settings
        raw = Kept(lambda: start_normalise(spark, settings)) if NORMALISE in self._stages else None
        kept_store = Kept(lambda: start_store(spark, settings, store)) if store is not None else None
        kept = [each for each in (raw, kept_store) if each is not None]
        self._await_at_work(spark, kept)
        # The others go on without it: what it lacks (Python on the executors, say) is told, and tried again.
        kept_side = (
            Kept(lambda: start_side(spark, settings, side), gives_up=False) if side is not None else None
        )
        kept += [kept_side] if kept_side is not None else []
        self._begin(spark, store, own, on_ready)
        ticked = time.monotonic()
        while not self._stop.wait(LOOK_SECONDS):
            _look_at(spark, kept)
            if _is_over(ticked):
                ticked = time.monotonic()
                ticks.tick(_now_ms(), _of(raw), _of(kept_side), _of(kept_store))
        log.info("the pipeline stops")
        for each in (kept_side, kept_store):
            if each is not None:
                let_finish(each.query)
        if store is not None and kept_store is not None:
            store.strangers.look(kept_store.query)

    def _begin(
        self,
        spark: SparkSession,
        store: StoreJob | None,
        own: UserQueries | None,
        on_ready: Callable[[], None],
    ) -> None:
        """The queries are at work: tell it, and start what goes on beside them."""
        if store is not None and "archive" in store.stages and self._settings.lake.upkeep_minutes:
            keeping = (self._settings, spark, self._stop)
            threading.Thread(target=keep_up, args=keeping, name="strom-upkeep", daemon=True).start()
        if not self._stop.is_set():
            at_work = [stage for stage in self._stages if stage != QUERIES or own is not None]
            log.info("the pipeline is running: %s", ", ".join(at_work))
            on_ready()
            if own is not None:
                own.start()

    def _await_at_work(self, spark: SparkSession, kept: Sequence[Kept]) -> None:
        while not all(_is_at_work(each.query) for each in kept) and not self._stop.wait(0.1):
            _look_at(spark, kept)

    @contextmanager
    def _side_job(self, spark: SparkSession, since_ms: int = 0) -> Iterator[SideJob | None]:
        """What `normalise` passes on; to be closed after the queries have ended."""
        job = SideJob(self._settings, spark, since_ms=since_ms) if SIDE in self._stages else None
        try:
            yield job
        finally:
            if job is not None:
                job.close()

    @contextmanager
    def _store_job(self, spark: SparkSession) -> Iterator[StoreJob | None]:
        """The stages on readings, if there are any; afterwards no query runs any more."""
        chosen = [stage for stage in self._stages if stage in STORE_STAGES]
        job = StoreJob(self._settings, spark, chosen) if chosen else None
        try:
            yield job
        finally:
            for query in spark.streams.active:
                query.stop()
            if job is not None:
                job.close()

    @contextmanager
    def _user_queries(self, spark: SparkSession) -> Iterator[UserQueries | None]:
        """Those in the folder, if there is one and they are asked for."""
        folder = self._settings.query_folder if QUERIES in self._stages else None
        own = UserQueries(self._settings, spark, folder) if folder is not None else None
        try:
            yield own
        finally:
            if own is not None:
                own.stop()


def _is_at_work(query: StreamingQuery) -> bool:
    return bool(query.status["isTriggerActive"]) or query.lastProgress is not None


def _look_at(spark: SparkSession, kept: Sequence[Kept]) -> None:
    if spark.sparkContext._jsc.sc().isStopped():
        raise StromError(
            "Spark has stopped: the cluster has ended the application; look at its log.", exit_code=1
        )
    for each in kept:
        each.look()


def _of(kept: Kept | None) -> StreamingQuery | None:
    return None if kept is None else kept.query


def _is_over(ticked: float) -> bool:
    return time.monotonic() - ticked >= TICK_SECONDS


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
