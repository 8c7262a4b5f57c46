"""Whatever becomes of the tasks in which shards run, the tables are the function of the readings, and a version counts once."""

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.process.shards import Shard
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import batch, fetch
from tests.pipeline.expected_tables import Stored, assert_same, assert_tables_are_the_function_of
from tests.pipeline.failing_shards import InterruptedShard, RefusedShard, RepeatedShard, UnheardShard
from tests.pipeline.histories import arrivals, grouped
from tests.pipeline.test_histories import versions

pytestmark = pytest.mark.stack
METERS, SEED = 30, 3
PARTS = (0.5, 0.75, 1.0)  # of all readings, which come in disorder: many meters wait, some of them twice


def settled(job: StoreJob) -> None:
    """As often as it takes; a pipeline begins its query again."""
    for _ in range(30):
        try:
            job.settle()
            return
        except StromError:
            continue
    raise AssertionError("it does not get on")


@pytest.mark.parametrize("shard", [RepeatedShard, UnheardShard, InterruptedShard])
def test_shards_that_fail_or_run_again_change_nothing(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, shard: type[Shard]
) -> None:
    own = grouped(own)
    monkeypatch.setattr("strom.pipeline.process.shards.Shard", shard)
    monkeypatch.setattr("strom.pipeline.process.shards.MOST_LINES", 30_000)  # several pieces a shard
    sent = arrivals(SEED, METERS)
    job = StoreJob(own, spark, tells=False, passes=False)
    place, before = 0, Stored()
    for number, share in enumerate(PARTS):
        end = round(share * len(sent))
        job.process(batch(spark, sent[place:end]), number)
        settled(job)
        place = end
        after = assert_tables_are_the_function_of(own, spark, sent[:place], job.settled_ms)
        assert_same({key: each.version for key, each in after.items()}, versions(before, after))
        before = after
    job.close()
    assert fetch(own, "SELECT count(*) FROM waiting_meters") == [(0,)]


def test_no_row_is_committed_before_kafka_has_confirmed(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The meters of a shard are in the tables with its note that it is done, or not at all."""
    monkeypatch.setattr("strom.pipeline.process.shards.Shard", RefusedShard)
    job = StoreJob(own, spark, tells=False, passes=False)
    job.process(batch(spark, arrivals(SEED, METERS)), 0)
    with pytest.raises(StromError, match="Kafka refused"):
        job.settle()
    job.close()
    ((done, rows, meters),) = fetch(
        own,
        "SELECT (SELECT array_agg(shard) FROM lake_shards WHERE turn >= 0), (SELECT count(*) FROM readings_latest), "
        "(SELECT count(*) FROM meter_states)",
    )
    assert len(done) == own.kafka.partitions // 2
    assert 0 < rows == meters < METERS


def test_connections_of_executors_that_were_cut_between_passes_do_not_end_the_next_one(
    own: Settings, spark: SparkSession
) -> None:
    sent = arrivals(SEED, METERS)
    half = len(sent) // 2
    for number, part in enumerate((sent[:half], sent[half:])):
        job = StoreJob(own, spark, tells=False, passes=False)
        job.process(batch(spark, part), number)
        job.settle()
        job.close()
        cut = fetch(
            own,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        assert cut, "executors keep their connections"
    assert fetch(own, "SELECT count(DISTINCT meter) FROM readings_latest") == [(METERS,)]
