"""The newest reading of a meter once more, with the same values, is nothing new; with others it corrects the tables."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.process import settlement_frames
from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START, Sent, batch, fetch, numbered, reading, take
from tests.pipeline.expected_tables import assert_tables_are_the_function_of

pytestmark = pytest.mark.stack
MINUTE = 60_000
TIMELY = [reading(at=START + n * MINUTE, import_wh=n * 10, import_w=600, voltage_l1_v=230) for n in range(43)]
NEWEST = TIMELY[-1]
LATER = NEWEST.received + 15 * MINUTE


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, SettlementNeed]]:
    """The meters that the lake was asked for more of, with what they needed."""
    found: list[Mapping[str, SettlementNeed]] = []
    detailed = settlement_frames.detailed

    @contextmanager
    def noted(
        readings: DataFrame,
        archive: Archive,
        needs: Mapping[str, SettlementNeed],
        limits: Limits,
        shards: int,
    ) -> Iterator[DataFrame]:
        found.append(needs)
        with detailed(readings, archive, needs, limits, shards) as frame:
            yield frame

    monkeypatch.setattr(settlement_frames, "detailed", noted)
    return found


def again(**numbers: float) -> Sent:
    """The newest reading, arriving later; with these numbers in place of its own."""
    return replace(NEWEST, received=LATER, numbers=NEWEST.numbers | numbers)


def settle_all(settings: Settings, spark: SparkSession, *batches: list[Sent]) -> None:
    sent: list[Sent] = []
    with closing(StoreJob(settings, spark, tells=False, passes=False)) as job:
        for number, readings in enumerate(batches):
            sent += numbered(readings, len(sent))
            take(job, batch(spark, sent[-len(readings) :]), number)
            assert_tables_are_the_function_of(settings, spark, sent)


def test_the_newest_reading_once_more_has_nobody_wait_and_the_lake_not_read(
    own: Settings, spark: SparkSession, waited: list[Mapping[str, SettlementNeed]]
) -> None:
    goes_on = [reading(at=START + n * MINUTE, import_wh=n * 10, import_w=600) for n in range(45, 60)]
    settle_all(own, spark, TIMELY, [again()], [again(), *goes_on])
    assert waited == []
    assert fetch(own, "SELECT max(version) FROM load_profile WHERE start < '2026-01-01 00:30Z'") == [(1,)]


@pytest.mark.parametrize(
    "other", [{"import_wh": 425.0}, {"import_w": 700.0}, {"voltage_l1_v": 231.0}, {"export_wh": 1.0}]
)
def test_the_newest_reading_with_another_value_corrects_the_tables(
    own: Settings, spark: SparkSession, waited: list[Mapping[str, SettlementNeed]], other: dict[str, float]
) -> None:
    settle_all(own, spark, TIMELY, [again(**other)])
    assert [needs["m1"].late for needs in waited] == [True]


def test_a_repeat_beside_readings_that_are_looked_at_one_by_one_counts_once(
    own: Settings, spark: SparkSession, waited: list[Mapping[str, SettlementNeed]]
) -> None:
    """The counter jumps after it, so that single readings are asked for, and the repeat is among them."""
    jump = [
        reading(at=START + n * MINUTE, import_wh=9_000_000 + n * 10, import_w=600, voltage_l1_v=230)
        for n in range(45, 75)
    ]
    settle_all(own, spark, TIMELY, [again(), *jump])
    assert [(needs["m1"].late, needs["m1"].each) for needs in waited] == [(False, True)]


def test_what_was_corrected_is_known_when_it_comes_once_more(
    own: Settings, spark: SparkSession, waited: list[Mapping[str, SettlementNeed]]
) -> None:
    settle_all(own, spark, TIMELY, [again(import_wh=425)], [again(import_wh=425)])
    assert len(waited) == 1


def test_a_repeat_with_tariffs_is_read_again(own: Settings, spark: SparkSession) -> None:
    """Their values are not part of what is remembered."""
    settle_all(own, spark, TIMELY, [again(import_t1_wh=7)], [again(import_t1_wh=9)])
