"""A live query: prepared (and so checked) first, then started, with its rows going to a topic or to a function."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.errors import StromError
from strom.pipeline.ending import let_finish
from strom.pipeline.sql import into, modes
from strom.pipeline.sql.result import Columns, columns_of, json_rows
from strom.pipeline.sql.sources import Live, Sources
from strom.pipeline.sql.spark_words import refused
from strom.pipeline.sql.views import Views
from strom.settings import Settings

TERMINAL_SECONDS = 1.0  # between two batches: a person looks on

Report = Callable[[str], None]
TakeRows = Callable[[Sequence[str]], None]


@dataclass(frozen=True)
class Wish:
    """What is asked for. Without a topic the rows go to whoever runs it; without a mode the query decides."""

    text: str
    live: Live
    into: str | None = None
    mode: str | None = None


class LiveQuery:
    """One query over what comes; making it checks everything that can be told before it runs."""

    def __init__(
        self, spark: SparkSession, settings: Settings, wish: Wish, report: Report = lambda line: None
    ) -> None:
        if wish.into is not None:
            into.check_topic(wish.into)
        self._settings = settings
        self._wish = wish
        # A session of its own: its views are nobody else's.
        views = Views(settings, Sources(spark.newSession(), settings, wish.live), report)
        self._frame = views.query(wish.text)
        if wish.into is not None:
            into.check_no_loop(wish.into, views.topics)
            into.records_of(self._frame)
        self.mode = modes.choose_mode(self._frame, self._wanted_modes())

    @property
    def columns(self) -> Columns:
        return columns_of(self._frame)

    def start_into(self, name: str, *, trigger_seconds: float) -> StreamingQuery:
        """Write to the topic; goes on where a query of this name and text was."""
        topic = self._wish.into
        if topic is None:
            raise StromError("The query does not tell into which topic it writes; add `-- into: TOPIC`.")
        into.ensure_topic(self._settings, topic)
        place = into.checkpoint_of(
            self._settings, name, self._wish.text, topic, self.mode, str(self._wish.live.late_ms)
        )
        writer = into.to_topic(self._settings, self._frame, topic).queryName(name)
        return self._start(writer.option("checkpointLocation", place), trigger_seconds)

    def start_here(self, take: TakeRows, checkpoint: str) -> StreamingQuery:
        """Hand each batch's rows to `take`, as JSON texts."""

        def hand_over(batch: DataFrame, _: int) -> None:
            take([row.row for row in json_rows(batch).collect()])

        writer = self._frame.writeStream.foreachBatch(hand_over).option("checkpointLocation", checkpoint)
        return self._start(writer, TERMINAL_SECONDS)

    def _start(self, writer: DataStreamWriter, seconds: float) -> StreamingQuery:
        try:
            return writer.outputMode(self.mode).trigger(processingTime=f"{seconds} seconds").start()
        except (PySparkException, Py4JJavaError) as error:
            raise refused(error) from None

    def _wanted_modes(self) -> Sequence[str]:
        usual = modes.FOR_TERMINAL if self._wish.into is None else modes.FOR_TOPIC
        if self._wish.mode is None:
            return usual
        if self._wish.mode not in usual:
            raise StromError(f"{self._wish.mode!r} is no mode for this; there are {', '.join(usual)}.")
        return (self._wish.mode,)


class Watch:
    """Follows a running query until it fails or is told to stop; counts what came too late."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._batch = -1
        self.late = 0

    def until(self, stopped: Callable[[], bool], seconds: float | None) -> None:
        """Ends by itself after some seconds, if so many are given; a failed query is one sentence."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._query.isActive and not stopped():
            if deadline is not None and time.monotonic() >= deadline:
                break
            time.sleep(0.1)
            self._count()
        failure = self._query.exception()
        if failure is not None and not stopped():
            raise refused(failure)
        let_finish(self._query)
        self._count()
        self._query.stop()

    def _count(self) -> None:
        progress = self._query.lastProgress
        if progress is None or progress["batchId"] == self._batch:
            return
        self._batch = progress["batchId"]
        self.late += sum(each["numRowsDroppedByWatermark"] for each in progress["stateOperators"])
