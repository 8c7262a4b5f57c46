"""What comes long after its time costs a look at the quarter-hours around it, and gives what all readings in order give."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.lake.archive import Archive, Span, few_spans
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import START, Sent, batch, fetch, numbered, reading, take
from tests.pipeline.expected_tables import assert_tables_are_the_function_of
from tests.pipeline.expected_tariffs import with_tariffs
from tests.pipeline.histories import MINUTE, RandomMeter, grouped

METERS = 60
LENGTH = 150  # readings of a random history: a day or more
HOURS = 30


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Span]]:
    """What the lake is asked for."""
    found: list[Sequence[Span]] = []
    read = Archive.read_spans

    def noted(archive: Archive, spans: Sequence[Span]) -> DataFrame:
        found.append(spans)
        return read(archive, spans)

    monkeypatch.setattr(Archive, "read_spans", noted)
    return found


def steady(meter: str, minutes: Sequence[int]) -> list[Sent]:
    """A reading in each of these minutes, with all that is made of readings."""
    return [
        reading(
            meter, START + n * MINUTE, import_wh=n * 10, export_wh=n, import_w=600, voltage_l1_v=230 + n % 5
        )
        for n in minutes
    ]


def arriving(readings: Sequence[Sent], last: Sequence[Sent]) -> list[Sent]:
    """All of them only now, behind the last of these."""
    now = max(each.received for each in last)
    return [replace(each, received=now + place) for place, each in enumerate(readings, 1)]


@pytest.mark.stack
def test_a_reading_a_day_late_is_put_in_its_place_by_the_readings_around_it(
    own: Settings, spark: SparkSession, asked: list[Sequence[Span]]
) -> None:
    late = {300, 301, 700, 1100}
    timely = steady("m1", [n for n in range(HOURS * 60) if n not in late]) + steady("m2", range(HOURS * 60))
    job = StoreJob(own, spark, passes=False)
    sent = numbered(timely)
    take(job, batch(spark, sent), 0)
    assert asked == []
    goes_on = steady("m1", range(HOURS * 60, HOURS * 60 + 20))
    came = numbered(arriving([*steady("m1", sorted(late)), *goes_on], timely), len(sent))
    take(job, batch(spark, came), 1)
    job.close()
    assert_tables_are_the_function_of(own, spark, [*sent, *came])
    spans = asked[-1]  # before it the pass over arrivals looked at the clock
    assert {meter for meter, _, _ in spans} == {"m1"}
    assert len(spans) == 3
    assert all(until is not None and until - since <= 25 * MINUTE for _, since, until in spans)
    changed = fetch(
        own, "SELECT extract(epoch FROM start)::bigint * 1000 FROM load_profile WHERE version > 1"
    )
    assert {(start - START) // MINUTE for (start,) in changed} >= {300, 690, 1095}


@pytest.mark.stack
def test_an_outage_that_is_filled_in_later_takes_what_lies_between_its_ends(
    own: Settings, spark: SparkSession, asked: list[Sequence[Span]]
) -> None:
    outage = range(200, 500)
    timely = steady("m1", [n for n in range(HOURS * 60) if n not in outage])
    job = StoreJob(own, spark, passes=False)
    sent = numbered(timely)
    take(job, batch(spark, sent), 0)
    filled = [*outage[100:200], *outage[:100], *outage[200:]]
    came = numbered(arriving(steady("m1", filled), timely), len(sent))
    for number, part in enumerate((came[:100], came[100:200], came[200:]), 1):
        take(job, batch(spark, part), number)
        sent += part
        assert_tables_are_the_function_of(own, spark, sent)
    job.close()
    # The pass over arrivals looks at the meter's clock, by the newest readings.
    clocks = [spans for spans in asked if spans[0][1] >= START + (HOURS * 60 - 20) * MINUTE]
    windows = [spans for spans in asked if spans not in clocks]
    assert len(clocks) == 1
    assert len(windows) == 3
    assert all(
        until is not None and until <= START + 530 * MINUTE for spans in windows for _, _, until in spans
    )


@pytest.mark.stack
@pytest.mark.parametrize("seed", range(2))
def test_whatever_comes_long_after_its_time_the_tables_are_the_function_of_the_readings(
    own: Settings, spark: SparkSession, asked: list[Sequence[Span]], seed: int
) -> None:
    own = grouped(own)
    chance = random.Random(seed)
    timely: list[Sent] = []
    late: list[Sent] = []
    for number in range(METERS):
        meter = f"{('common', 'patient', 'small')[number % 3]} {number}"
        random_meter = RandomMeter(random.Random(f"{seed} {meter}"), meter)
        random_meter.wild = chance.choice((0, 0, 0, 0.1))
        readings = random_meter.readings(LENGTH)
        if number % 10 == 0:
            readings = with_tariffs(chance, readings)
        share = chance.choice((0.01, 0.03, 0.2))
        for each in readings:
            (late if chance.random() < share else timely).append(each)
    chance.shuffle(late)
    sent = numbered(sorted(timely, key=lambda each: each.at))
    job = StoreJob(own, spark, tells=False, passes=False)
    take(job, batch(spark, sent), 0)
    came = numbered(arriving(late, timely), len(sent))
    third = len(came) // 3
    for number, part in enumerate((came[:third], came[third : 2 * third], came[2 * third :]), 1):
        take(job, batch(spark, part), number)
        sent += part
        assert_tables_are_the_function_of(own, spark, sent)
    job.close()
    spans = [span for each in asked for span in each]
    assert {until is None for _, since, until in spans if since} == {True, False}


def test_spans_of_time_become_few_with_the_least_between_them() -> None:
    spans = [(0, 2), (1, 3), (10, 11), (13, 14), (100, 101)]
    assert few_spans(spans, 9) == [(0, 3), (10, 11), (13, 14), (100, 101)]
    assert few_spans(spans, 3) == [(0, 3), (10, 14), (100, 101)]
    assert few_spans(spans, 1) == [(0, 101)]
