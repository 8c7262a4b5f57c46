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
from strom.pipeline.ending import end_work, first_line, let_finish, reason_of, stop_all
from strom.pipeline.lake.upkeep import keep_up
from strom.pipeline.positions import Queries
from strom.pipeline.queries import Trigger, refuse_if_away, start_normalise, start_side, start_store
from strom.pipeline.session import build_session
from strom.pipeline.shipping import ship
from strom.pipeline.side_job import SideJob
from strom.pipeline.sql.user_queries import UserQueries
from strom.pipeline.stages import NORMALISE, QUERIES, SIDE, STAGES, STORE_STAGES, with_side
from strom.pipeline.store_job import StoreJob
from strom.pipeline.supervised_query import SupervisedQuery
from strom.pipeline.ticks import Ticks
from strom.pipeline.warm_up import warm_up
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import admin_client, ensure_contract_topics
from strom.streams.offsets import find_topics, partitions_of
from strom.supervision import SupervisedThread

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
                ship(spark, self._settings)
            if until_caught_up:
                return self.catch_up(spark)
            if self._settings.pipeline.warm_up:
                self._warm_up(spark)
            with (
                self._side_job(spark) as side,
                self._store_job(spark) as store,
                self._user_queries(spark) as own,
                connect_server(spark, self._settings, needed),
            ):
                self._follow(spark, side, store, own, on_ready)
            return True
        finally:
            spark.stop()

    def _warm_up(self, spark: SparkSession) -> None:
        """The pipeline starts cold where this fails: what is really wrong its queries tell, and are tried again."""
        try:
            warm_up(spark, self._settings, self._stages, self._stop.is_set)
        except Exception as error:
            log.warning("the pipeline starts cold, for it could not warm up: %s", first_line(error))

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
                if not self._stop.is_set():
                    store.settle()
                    store.tick(_now_ms())
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
        raw, kept_store = self._main_queries(spark, store)
        queries = [each for each in (raw, kept_store) if each is not None]
        self._await_at_work(spark, queries)
        kept_side = self._side_query(spark, side)
        queries += [kept_side] if kept_side is not None else []
        self._begin(spark, store, own, on_ready)
        ticking = self._in_background("strom-ticks", lambda: self._tick(ticks, raw, kept_side, kept_store))
        try:
            while not self._stop.wait(LOOK_SECONDS):
                _check(spark, queries)
        finally:
            self._stop.set()  # for what runs in the background
        log.info("the pipeline stops")
        for each in (kept_side, kept_store):
            if each is not None and each.query is not None:
                let_finish(each.query)
        end_work(spark, ticking)

    def _main_queries(
        self, spark: SparkSession, store: StoreJob | None
    ) -> tuple[SupervisedQuery | None, SupervisedQuery | None]:
        """The real-time query and the stages on readings, as far as they are asked for."""
        settings = self._settings

        def start_raw() -> StreamingQuery:
            refuse_if_away(settings, [topics.RAW, topics.READINGS, topics.SIDE, topics.DEAD_LETTER])
            return start_normalise(spark, settings)

        raw = SupervisedQuery(NORMALISE, start_raw) if NORMALISE in self._stages else None
        if store is None:
            return raw, None
        job = store

        def start_stages() -> StreamingQuery:
            refuse_if_away(settings, [topics.READINGS], postgres=True)
            return start_store(spark, settings, job)

        return raw, SupervisedQuery("+".join(job.stages), start_stages)

    def _side_query(self, spark: SparkSession, side: SideJob | None) -> SupervisedQuery | None:
        """The others go on without it: what it lacks (Python on the executors, say) is logged, and tried again."""
        if side is None:
            return None
        settings, job = self._settings, side

        def start() -> StreamingQuery:
            refuse_if_away(settings, [topics.SIDE])
            return start_side(spark, settings, job)

        return SupervisedQuery(SIDE, start, gives_up=False)

    def _tick(
        self,
        ticks: Ticks,
        raw: SupervisedQuery | None,
        side: SupervisedQuery | None,
        store: SupervisedQuery | None,
    ) -> None:
        """In a thread of its own: it waits for Kafka and Postgres, and queries that fail must not wait for that."""
        while not self._stop.wait(TICK_SECONDS):
            if side is None or side.query is not None:
                ticks.tick(_now_ms(), Queries(_of(raw), _of(side), _of(store)))

    def _in_background(self, name: str, work: Callable[[], None]) -> SupervisedThread:
        thread = SupervisedThread(name, work, self._stop, log)
        thread.start()
        return thread

    def _begin(
        self,
        spark: SparkSession,
        store: StoreJob | None,
        own: UserQueries | None,
        on_ready: Callable[[], None],
    ) -> None:
        """The queries are at work: announce it, and start what goes on beside them."""
        if store is not None and "archive" in store.stages and self._settings.lake.upkeep_minutes:
            self._in_background("strom-upkeep", lambda: keep_up(self._settings, spark, self._stop))
        if not self._stop.is_set():
            at_work = [stage for stage in self._stages if stage != QUERIES or own is not None]
            log.info("the pipeline is running: %s", ", ".join(at_work))
            on_ready()
            if own is not None:
                own.start()

    def _await_at_work(self, spark: SparkSession, queries: Sequence[SupervisedQuery]) -> None:
        while not all(each.is_at_work for each in queries) and not self._stop.wait(0.1):
            _check(spark, queries)

    @contextmanager
    def _side_job(self, spark: SparkSession) -> Iterator[SideJob | None]:
        """What `normalise` passes on; to be closed after the queries have ended."""
        job = SideJob(self._settings, spark) if SIDE in self._stages else None
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
            stop_all(spark)
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


def _check(spark: SparkSession, queries: Sequence[SupervisedQuery]) -> None:
    if spark.sparkContext._jsc.sc().isStopped():
        raise StromError(
            "Spark has stopped: the cluster has ended the application; look at its log.", exit_code=1
        )
    for each in queries:
        each.check()


def _of(supervised: SupervisedQuery | None) -> StreamingQuery | None:
    return None if supervised is None else supervised.query


def _is_over(ticked: float) -> bool:
    return time.monotonic() - ticked >= TICK_SECONDS


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
