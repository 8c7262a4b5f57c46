"""Warms the session before the pipeline says that it is ready: cold, it falls behind for minutes under the load that it carries warm.

The stages go over synthetic records, as often as it takes for Spark to generate their code and Java to compile it. What they
write goes nowhere, and the lake that they fill is a temporary one: no topic and no table sees any of it.
"""

import logging
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.cluster import is_on_this_machine, remove_folder
from strom.pipeline.fresh import fresh_readings, reached_rows
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.normalise import normalise
from strom.pipeline.process import arrival_frames, settlement_frames
from strom.pipeline.process.arrivals import Arrivals
from strom.pipeline.process.settlement import Settlement
from strom.pipeline.process.shards import number_of_shards, rehearse
from strom.pipeline.readings import typed_readings
from strom.pipeline.shipping import ship
from strom.pipeline.stages import NORMALISE, STORE_STAGES
from strom.pipeline.synthetic import as_raw, as_records, messages
from strom.settings import Settings

_ROUNDS = 3
_MESSAGES, _METERS = 40_000, 2_000  # of a round
_START_S = 1_763_229_600  # any time

ARRIVALS = partial(Arrivals, watches=True, by_arrival=True)
SETTLEMENT = partial(Settlement, watches=True, again=False)

log = logging.getLogger(__name__)


def warm_up(
    spark: SparkSession, settings: Settings, stages: Sequence[str], is_stopped: Callable[[], bool]
) -> None:
    """The code of these stages is compiled behind it."""
    began = time.monotonic()
    with temporary_lake(spark, settings) as folder:
        archive = Archive(spark, folder)
        for turn in range(_ROUNDS):
            if is_stopped():
                return
            raw = as_raw(messages(spark, _MESSAGES, _METERS, _START_S, first=turn * _MESSAGES // _METERS))
            if NORMALISE in stages:
                _run(normalise(raw))
            if set(STORE_STAGES) & set(stages):
                _take_in(as_records(normalise(raw)), archive, settings)
    log.info("warmed up in %.0f s", time.monotonic() - began)


@contextmanager
def temporary_lake(spark: SparkSession, settings: Settings) -> Iterator[str]:
    """A folder that is gone afterwards; on a cluster of several machines all of them find it where they find the checkpoints."""
    if is_on_this_machine(settings):
        with tempfile.TemporaryDirectory(prefix="strom-warm-up-", ignore_cleanup_errors=True) as folder:
            yield folder
        return
    folder = f"{settings.checkpoint_root}/warm-up-{uuid.uuid4().hex}"
    try:
        yield folder
    finally:
        remove_folder(spark, folder)


def _take_in(records: DataFrame, archive: Archive, settings: Settings) -> None:
    """What the stages on `readings` ask of Spark."""
    ship(archive.spark, settings)
    limits = Limits(settings)
    with held(fresh_readings(typed_readings(records), [])) as fresh:
        _run(reached_rows(fresh))
        archive.append(fresh, _MESSAGES, [])
    version = archive.version()
    arrived = archive.added(version - 1, version)
    shards = number_of_shards(settings, archive.spark)
    rehearse(settings, ARRIVALS, arrival_frames.folded(arrived, limits, shards))
    settled = settlement_frames.folded(archive.rows(), limits, shards, has_tariffs=False)
    rehearse(settings, SETTLEMENT, settled)


def _run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()
