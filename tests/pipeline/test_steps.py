"""Steps of a pass that fail, or that somebody else ends, beside readings that keep coming: none is left out of the tables."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pytest
from psycopg.pq import TransactionStatus
from pyspark import RDD
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from strom.errors import StromError
from strom.pipeline.lake.archive import lake_rows
from strom.pipeline.process.arrivals import Arrivals
from strom.pipeline.process.needs import ArrivalsNeed
from strom.pipeline.process.shards import Shards
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store.position_tables import SETTLEMENT, begin_step, load_waiting, save_waiting
from strom.store.writes import Work, Writer
from tests.pipeline.batches import START, Sent, batch, fetch, numbered, reading
from tests.pipeline.expected_tables import assert_tables_are_the_function_of

pytestmark = pytest.mark.stack
MINUTE = 60_000
# Every second minute of two hours comes at once; what lies between comes later, and to the lake it is never late.
FIRST = numbered([reading(at=START + m * MINUTE, import_wh=m, import_w=60) for m in range(0, 120, 2)])
BETWEEN = [reading(at=START + m * MINUTE, import_wh=m + 0.4, import_w=30) for m in range(11, 119, 2)]
UNTIL = START + 100 * MINUTE


def failing_settlement(job: StoreJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt at a step of the settlement: it is noted, and its shards fail."""

    def fail(*_: Any, **__: Any) -> None:
        raise StromError("Postgres stopped answering.", exit_code=1)

    with monkeypatch.context() as patch:
        patch.setattr(job._over, "settlement", fail)
        with pytest.raises(StromError, match="stopped answering"):
            job.settle(UNTIL)


def job_with_a_failed_step(own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> StoreJob:
    """The first readings are settled for ten minutes; the next step was to lead further."""
    job = StoreJob(own, spark, tells=False, passes=False)
    job.process(batch(spark, FIRST), 0)
    job.settle(START + 10 * MINUTE)
    failing_settlement(job, monkeypatch)
    return job


def test_readings_that_come_behind_a_step_that_failed_are_in_the_tables(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_with_a_failed_step(own, spark, monkeypatch)
    between = numbered(BETWEEN, len(FIRST))
    job.process(batch(spark, between), 1)
    job.settle()
    job.close()
    assert_tables_are_the_function_of(own, spark, [*FIRST, *between])


def test_readings_that_come_behind_a_step_that_a_replay_has_ended_are_in_the_tables(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_with_a_failed_step(own, spark, monkeypatch)
    replay = StoreJob(own, spark, tells=False)
    replay.take_again(lambda: lake_rows(batch(spark, FIRST[:3])), lambda _: None, only_settled=True)
    replay.close()
    assert fetch(own, f"SELECT settled FROM lake_positions WHERE pass = '{SETTLEMENT}'") == [(UNTIL,)]  # noqa: S608
    between = numbered(BETWEEN, len(FIRST))
    job.process(batch(spark, between), 1)
    job.settle()
    job.close()
    assert_tables_are_the_function_of(own, spark, [*FIRST, *between])


def test_readings_that_another_job_puts_into_the_lake_are_in_the_tables_at_the_next_settlement(
    own: Settings, spark: SparkSession
) -> None:
    job = StoreJob(own, spark, tells=False)
    other = StoreJob(own, spark, stages=("archive",), tells=False)
    job.process(batch(spark, FIRST), 0)
    job.settle()
    between = numbered(BETWEEN, len(FIRST))
    other.process(batch(spark, between), 0)
    job.settle()
    job.close()
    other.close()
    assert_tables_are_the_function_of(own, spark, [*FIRST, *between])


def test_what_waits_for_the_end_of_a_clock_that_is_ahead_is_not_settled_either(
    own: Settings, spark: SparkSession
) -> None:
    job = StoreJob(own, spark, tells=False, passes=False)
    year = 365 * 24 * 60 * MINUTE
    ahead = Sent("m2", FIRST[-1].at + 40 * year, {"import_wh": 1}, FIRST[-1].at + 40 * year)
    job.process(batch(spark, [*FIRST, *numbered([ahead], len(FIRST))]), 0)
    job.settle()
    assert START < job.settled_ms < ahead.at
    later = numbered([reading(at=START + 121 * MINUTE, import_wh=121)], len(FIRST) + 1)
    job.process(batch(spark, later), 1)
    job.settle()
    job.close()
    assert fetch(own, "SELECT newest FROM settled_meters") == [(later[0].at,)]


def test_a_meter_that_waits_and_has_no_readings_any_more_does_not_hold_up_the_others(
    own: Settings, spark: SparkSession
) -> None:
    """Its readings are too late by the rules that hold now, say."""
    shards = Shards(own, spark, tells=False)
    nothing = spark.createDataFrame([], "meter string, lines string, newest string, reading string")
    asked: list[Mapping[str, str]] = []

    def detailed(waiting: Mapping[str, str]) -> AbstractContextManager[DataFrame]:
        asked.append(waiting)
        return nullcontext(nothing)

    with Writer(own.postgres_url) as writer:
        with writer.work() as work:
            step = begin_step(work, "of-a-test", None, shards.number)
            save_waiting(work, step, {"gone": ArrivalsNeed(arrivals=True).text()})
        shards.run(writer, step, partial(Arrivals, watches=True, by_arrival=True), nothing, detailed)
        with writer.work() as work:
            assert _waiting(work) == 0
            assert load_waiting(work, step, 10, 1_000) == {}
    assert [list(each) for each in asked] == [["gone"]]


def _waiting(work: Work) -> int:
    ((count,),) = work.rows("SELECT count(*) FROM waiting_meters")
    return int(count)


def test_the_driver_has_no_transaction_open_while_spark_works(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live, with readings that are late and too late, and taken once more: whatever Spark is asked for, Postgres is at rest."""
    job = StoreJob(own, spark, tells=False)
    seen: list[tuple[str, TransactionStatus]] = []

    def noting(name: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*values: Any, **named: Any) -> Any:
            connection = job._writer._connection
            assert connection is not None
            seen.append((name, connection.info.transaction_status))
            return action(*values, **named)

        return noted

    for owner, name in (
        (type(spark.range(0)), "collect"),
        (type(spark.range(0)), "toLocalIterator"),
        (RDD, "collect"),
        (DataFrameWriter, "save"),
    ):
        monkeypatch.setattr(owner, name, noting(name, getattr(owner, name)))
    job.process(batch(spark, FIRST), 0)
    job.settle()
    late = [Sent(each.meter, each.at, each.numbers, FIRST[-1].received) for each in BETWEEN[:5]]
    too_late = [Sent("m2", START - 100 * 24 * 60 * MINUTE, {"import_wh": 1}, FIRST[-1].received)]
    job.process(batch(spark, numbered([*late, *too_late], len(FIRST))), 1)
    job.settle()
    lake = job.archive.rows()
    job.take_again(lambda: lake, lambda _: None)
    job.close()
    assert fetch(own, "SELECT count(*) FROM late_readings") == [(1,)]
    assert {name for name, _ in seen} == {"collect", "toLocalIterator", "save"}
    assert {status for _, status in seen} == {TransactionStatus.IDLE}
