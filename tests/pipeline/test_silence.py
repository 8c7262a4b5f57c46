"""Silence is the same alert, whether the timer, a batch, a backlog or a replay finds it."""

from collections.abc import Iterator
from dataclasses import replace
from time import time_ns

import pytest
from pyspark.sql import SparkSession

from strom.domain.alerts import SILENT, Alert
from strom.pipeline.replay.silence import ended_silences
from strom.pipeline.store_job import StoreJob
from strom.settings import GroupSettings, Settings
from strom.store.alert_tables import all_alerts
from strom.store.meter_tables import load_intervals
from strom.store.writes import Writer
from tests.pipeline.batches import START, Sent, batch, fetch, moment, numbered, reading, take

pytestmark = pytest.mark.stack
HOUR = 3_600_000


def test_silence_is_told_by_the_timer_and_ends_when_the_meter_returns(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    before = [reading(at=START + second * 1000, import_wh=1) for second in range(0, 60, 5)]
    take(job, batch(spark, numbered(before)), 0)
    last = before[-1].received
    job.tick(last + 90_000)
    job.tick(None)
    assert fetch(own, "SELECT * FROM alerts") == []
    for _ in range(2):
        job.tick(last + 90_001)
    assert fetch(own, "SELECT kind, started, ended FROM alerts") == [("silent", moment(last + 90_000), None)]
    back = [reading(at=START + HOUR + second * 1000, import_wh=1) for second in (0, 5)]
    take(job, batch(spark, numbered(back, len(before))), 1)
    ended = [("silent", moment(last + 90_000), moment(back[0].received))]
    assert fetch(own, "SELECT kind, started, ended FROM alerts") == ended


def test_a_silence_inside_a_backlog_is_the_same_alert(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    before = [reading(at=START + second * 1000, import_wh=1) for second in range(0, 60, 5)]
    back = [reading(at=START + HOUR + second * 1000, import_wh=1) for second in (0, 5)]
    take(job, batch(spark, numbered([*before, *back])), 0)
    ended = [("silent", moment(before[-1].received + 90_000), moment(back[0].received))]
    assert fetch(own, "SELECT kind, started, ended FROM alerts") == ended


def test_history_filled_in_at_once_is_not_silence(job: StoreJob, own: Settings, spark: SparkSession) -> None:
    day = [
        replace(reading(at=START + hour * HOUR, import_wh=hour), received=START + 25 * HOUR)
        for hour in range(24)
    ]
    take(job, batch(spark, numbered(day)), 0)
    assert fetch(own, "SELECT * FROM alerts") == []


def test_a_door_whose_clock_is_ahead_hides_no_silence_and_makes_none_up(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    begin = time_ns() // 1_000_000 - 600_000
    sent = [reading(at=begin + second * 1000, import_wh=1) for second in range(0, 60, 5)]
    ahead = numbered([replace(each, received=each.at + 24 * HOUR) for each in sent])
    for number, part in enumerate((ahead[:6], ahead[6:])):
        take(job, batch(spark, part), number)
    taken_in = time_ns() // 1_000_000
    assert silences(own) == []
    job.tick(taken_in + 90_001)
    (lasting,) = silences(own)
    assert begin < lasting.started - 90_000 <= taken_in
    assert lasting.ended is None


UNKNOWN = 3 * HOUR  # what a meter may be quiet for while its push interval is not known


def pushes(meter: str, *hours: float) -> list[Sent]:
    """One message at each of these hours."""
    return [reading(meter, START + round(hour * HOUR), import_wh=1) for hour in hours]


def silences(settings: Settings) -> list[Alert]:
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        return sorted(
            (alert for alert in all_alerts(work) if alert.kind == SILENT), key=lambda alert: alert.id
        )


@pytest.fixture
def patient(own: Settings, spark: SparkSession) -> Iterator[StoreJob]:
    """It waits longer for one meter of which nothing is known yet than for others."""
    groups = {"patient": GroupSettings(meters=["patient"], silent_unknown_seconds=6 * 3600)}
    store = StoreJob(own.model_copy(update={"groups": groups}), spark)
    yield store
    store.close()


def test_a_meter_that_sent_once_and_died_is_told_after_hours_and_not_after_seconds(
    patient: StoreJob, own: Settings, spark: SparkSession
) -> None:
    sent = numbered([*pushes("m1", 0), *pushes("patient", 0)])
    take(patient, batch(spark, sent), 0)
    last = sent[0].received
    patient.tick(last + UNKNOWN)
    assert silences(own) == []
    for _ in range(2):
        patient.tick(last + UNKNOWN + 1)
    found = fetch(own, "SELECT meter, started, ended, threshold FROM alerts")
    assert found == [("m1", moment(last + UNKNOWN), None, 10_800)]
    patient.tick(last + 6 * HOUR + 1)
    assert {alert.meter for alert in silences(own)} == {"m1", "patient"}


def test_an_hourly_meter_is_not_silent_after_its_first_message(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    for number, sent in enumerate(numbered(pushes("m1", 0, 1))):
        take(job, batch(spark, [sent]), number)
        job.tick(sent.received + HOUR)
    assert silences(own) == []


# Hours at which a meter sends at first; then it does so every five seconds.
BEGINNINGS = ((0.0,), (0.0, 2.5), (0.0, 4.0), (0.0, 4.0, 8.5))


def beginners(way: str) -> list[Sent]:
    steady = [10 + second / 3600 for second in (0, 5, 10, 400)]
    sent = [
        each for number, hours in enumerate(BEGINNINGS) for each in pushes(f"{way} {number}", *hours, *steady)
    ]
    return sorted(sent, key=lambda each: each.received)


def test_the_silence_of_a_meter_that_has_just_begun_is_the_same_live_in_a_backlog_and_replayed(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    live = numbered(beginners("live"))
    for number, time in enumerate(sorted({each.received for each in live})):
        job.tick(time - 1)
        take(job, batch(spark, [each for each in live if each.received == time]), number)
    backlog = numbered(beginners("backlog"), len(live))
    take(job, batch(spark, backlog), 99)
    found = silences(own)
    with Writer(own.postgres_url) as writer, writer.work() as work:
        intervals = load_intervals(work)
    again = ended_silences(batch(spark, [*live, *backlog]), intervals, own)
    assert sorted(again, key=lambda alert: alert.id) == found
    by_way = {
        way: sorted(
            (alert.meter[-1], alert.started, alert.ended) for alert in found if alert.meter.startswith(way)
        )
        for way in ("live", "backlog")
    }
    assert by_way["live"] == by_way["backlog"]
    assert [meter for meter, _, _ in by_way["live"]] == [*"0011222333"]
