"""Tells of records in `readings` that `normalise` did not write: they are left out, which nobody should have to guess.

It costs the readings nothing: Spark tells how many records a batch had, the job how many readings it took in. Only where
the two differ, which a repeat after a restart can also make them, is the batch read once more: one a minute at most.
"""

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from strom.pipeline.readings import not_readings
from strom.pipeline.sql.spark_words import as_sentence
from strom.rate_limited_log import RateLimitedLog
from strom.settings import Settings
from strom.streams import topics

_EARLIEST = -2  # Spark's number for the first record that is there
_REMEMBERED = 100  # batches, as many as Spark remembers
_WAITING = 5  # batches that are to be read once more
_APART_SECONDS = 60.0

log = logging.getLogger(__name__)


class Strangers:
    """The job notes what it `took`, whoever watches over the query lets it `look`: from different threads, if need be."""

    def __init__(
        self, spark: SparkSession, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._taken: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._differing: deque[Mapping[str, Any]] = deque(
            maxlen=_WAITING
        )  # where those batches begin and end
        self._clock = clock
        self._next = float("-inf")
        self._log = RateLimitedLog(log)

    def took(self, batch_id: int, count: int) -> None:
        self._taken.append((batch_id, count))

    def look(self, query: StreamingQuery) -> None:
        """A line where a batch since the last look had records of somebody else."""
        self._compare(query)
        if self._differing and self._clock() >= self._next:
            self._next = self._clock() + _APART_SECONDS
            self._tell(self._differing.popleft())

    def _compare(self, query: StreamingQuery) -> None:
        if not self._taken:
            return
        taken = dict(self._taken.copy())
        for progress in query.recentProgress:
            batch, records = progress["batchId"], progress["numInputRows"]
            # Between batches Spark tells of the next one, with no records yet.
            if batch not in taken or not records:
                continue
            self._forget(batch)
            if records != taken[batch]:
                self._differing.append(progress["sources"][0])

    def _forget(self, upto: int) -> None:
        while self._taken and self._taken[0][0] <= upto:
            self._taken.popleft()

    def _tell(self, source: Mapping[str, Any]) -> None:
        try:
            found = not_readings(self._records(source))
            count, first = found.agg(F.count("*"), F.min(F.struct("partition", "offset"))).collect()[0]
        except (PySparkException, Py4JError) as error:
            why = as_sentence(error)
            self._log.warning(
                "whether somebody else has written into %s cannot be told: %s", topics.READINGS, why
            )
            return
        if count:
            self._log.warning(
                "%s records in %s were not written by normalise and were left out, the first one at %s; "
                "find out who writes into this topic, and send messages to %s instead",
                f"{count:,}",
                topics.READINGS,
                f"{topics.READINGS}/{first['partition']}/{first['offset']}",
                topics.RAW,
            )

    def _records(self, source: Mapping[str, Any]) -> DataFrame:
        """Those of one batch, once more. The first batch tells no start, and a partition that is new has none."""
        end = _offsets(source["endOffset"])
        begin = dict.fromkeys(end, _EARLIEST) | {
            partition: offset
            for partition, offset in _offsets(source["startOffset"]).items()
            if partition in end
        }
        return (
            self._spark.read.format("kafka")
            .option("kafka.bootstrap.servers", self._settings.kafka_bootstrap)
            .option("subscribe", topics.READINGS)
            .option("startingOffsets", json.dumps({topics.READINGS: begin}))
            .option("endingOffsets", json.dumps({topics.READINGS: end}))
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .load()
        )


def _offsets(told: object) -> dict[str, int]:
    """By partition."""
    offsets: Any = json.loads(told) if isinstance(told, str) else told
    found: dict[str, int] = (offsets or {}).get(topics.READINGS, {})
    return found
