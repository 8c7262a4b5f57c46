"""Tables that were filled before there were passes over the lake are gone on with: nothing counts twice, nothing alarms."""

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START, batch, fetch, numbered, reading, take
from tests.pipeline.expected_tables import assert_tables_are_the_function_of

MINUTE = 60_000


@pytest.mark.stack
def test_tables_from_before_the_passes_hold_each_reading_once_afterwards(
    own: Settings, spark: SparkSession
) -> None:
    sent = numbered(
        [
            reading(name, START + n * MINUTE, import_wh=n * 10, import_w=600, voltage_l1_v=230 + n % 5)
            for n in range(200)
            for name in ("m1", "m2")
        ]
    )
    job = StoreJob(own, spark)
    take(job, batch(spark, sent), 0)
    job.close()
    with psycopg.connect(own.postgres_url) as connection:
        connection.execute("DROP TABLE settled_meters, lake_positions, lake_shards, waiting_meters")
        connection.execute("COMMENT ON TABLE meters IS NULL")
    more = numbered([reading("m1", START + n * MINUTE, import_wh=n * 10) for n in range(200, 230)], len(sent))
    job = StoreJob(own, spark)
    take(job, batch(spark, more), 1)
    job.close()
    assert_tables_are_the_function_of(own, spark, [*sent, *more])
    assert fetch(own, "SELECT * FROM alerts") == []


def test_what_a_meter_waits_for_is_understood_as_before_there_were_windows() -> None:
    need = SettlementNeed.parsed('{"first": 7, "late": true, "series": {"import": 3}}')
    assert (need.first, need.late, need.windows, need.after("import")) == (7, True, [], 3)
