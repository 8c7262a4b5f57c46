"""Readings that are too late are read in pieces, each of which is written by a short transaction of its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline import late
from strom.settings import Settings
from strom.store.late_tables import MOST_OF_A_METER, LateRow, save_late
from strom.store.writes import PIPELINE, Work, Writer
from tests.pipeline.batches import START, batch, fetch, numbered, reading
from tests.streams.writing import strom

pytestmark = pytest.mark.stack
MINUTE = 60_000
LIMIT = 10 * 86_400_000
TOO_LATE = [
    replace(each, received=each.at + LIMIT + 1)
    for each in numbered([reading(at=START + n * MINUTE, import_wh=n) for n in range(5)])
]


def open_transactions(settings: Settings) -> list[tuple[Any, ...]]:
    return fetch(
        settings,
        "SELECT state, query FROM pg_stat_activity WHERE datname = current_database() "  # noqa: S608
        f"AND application_name = '{PIPELINE}' AND xact_start IS NOT NULL",
    )


def test_no_transaction_is_open_while_spark_reads_what_is_set_aside_or_taken_back(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = batch(spark, TOO_LATE)
    monkeypatch.setattr(late, "ROWS_AT_ONCE", 2)
    read = type(came).toLocalIterator
    looked: list[Any] = []

    def watched(frame: Any) -> Iterator[Any]:
        for row in read(frame):
            assert open_transactions(own) == []
            looked.append(row)
            yield row

    monkeypatch.setattr(type(came), "toLocalIterator", watched)
    with Writer(own.postgres_url, PIPELINE) as writer:
        assert [late.set_aside(writer, came, LIMIT) for _ in range(2)] == [5, 0]
        assert late.take_back(writer, came, LIMIT) == 0
        assert [late.take_back(writer, came, LIMIT + 1) for _ in range(2)] == [5, 0]
    assert fetch(own, "SELECT * FROM late_readings") == []
    assert len(looked) == 15


def test_what_a_kill_has_cut_off_is_set_aside_by_the_next_attempt_each_once(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = batch(spark, TOO_LATE)
    monkeypatch.setattr(late, "ROWS_AT_ONCE", 2)
    written: list[Any] = []

    def cut_off(work: Work, rows: list[LateRow]) -> int:
        written.append(rows)
        if len(written) == 2:
            raise psycopg.OperationalError
        return save_late(work, rows)

    with Writer(own.postgres_url) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(late, "save_late", cut_off)
            with pytest.raises(StromError, match="Postgres"):
                late.set_aside(writer, came, LIMIT)
        assert fetch(own, "SELECT count(*) FROM late_readings") == [(2,)]
        assert late.set_aside(writer, came, LIMIT) == 3
    assert fetch(own, "SELECT count(*) FROM late_readings") == [(5,)]


def test_the_list_says_so_where_a_meter_has_more_than_are_kept(own: Settings) -> None:
    with psycopg.connect(own.postgres_url) as connection:
        connection.execute(
            "INSERT INTO late_readings VALUES ('m1', '2021-05-14 13:00Z', now(), '0', '{}'); "  # noqa: S608
            "INSERT INTO late_readings SELECT 'standing', at, received, n::text, reading "
            f"FROM late_readings, generate_series(1, {MOST_OF_A_METER}) n".encode()
        )
    lines = strom(own, "pipeline", "late").stdout.splitlines()
    assert [line.partition("  of ")[0] for line in lines[:2]] == ["standing  10,000 or more", "m1  1"]
    assert lines[-2:] == [
        "Of each meter the newest 10,000 are kept in the table; the lake has all of them.",
        "10,001 or more readings came too late and were set aside",
    ]
