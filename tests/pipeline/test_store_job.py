"""What single batches make of tables and lake; random histories have their own tests."""

import time
from contextlib import closing
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from strom.domain.slots import SLOT_MS
from strom.errors import StromError
from strom.pipeline.lake.archive import lake_rows
from strom.pipeline.stages import STORE_STAGES
from strom.pipeline.store_job import GRACE_MS, StoreJob
from strom.settings import Settings
from strom.store.mark_tables import TABLES
from strom.store.reads import taken_in
from strom.streams.topics import LOAD_PROFILE
from tests.pipeline.batches import START, Sent, batch, fetch, moment, numbered, reading, take
from tests.pipeline.crashing import CrashError, crash
from tests.pipeline.expected_tables import assert_tables_are_the_function_of
from tests.waiting import until

pytestmark = pytest.mark.stack
HOUR = 3_600_000
WEEK = 7 * 24 * HOUR


def test_the_lake_holds_a_reading_once_whichever_stages_bring_it(own: Settings, spark: SparkSession) -> None:
    sent = numbered([reading(at=START + m * 60_000, import_wh=m, voltage_l1_v=230) for m in range(40)])
    alone, together = StoreJob(own, spark, stages=("archive",)), StoreJob(own, spark)
    take(alone, batch(spark, sent[:15]), 0)
    take(together, batch(spark, sent[:25]), 0)
    take(alone, batch(spark, sent[15:30]), 1)
    take(together, batch(spark, sent[25:]), 1)
    take(alone, batch(spark, sent[30:]), 2)
    alone.close()
    together.close()
    assert_tables_are_the_function_of(own, spark, sent)


def test_the_lake_holds_a_reading_once_if_other_stages_go_on_where_some_were_killed(
    own: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed when the lake had the batch and the tables had not; those that go on cut it otherwise, and were there before."""
    sent = numbered([reading(at=START + m * 60_000, import_wh=m, voltage_l1_v=230) for m in range(40)])
    others = StoreJob(own, spark)
    for stages, taken, whole in (
        (("archive",), sent[:15], sent[:20]),
        (("archive", "profile"), sent[:25], sent[:30]),
        (STORE_STAGES, sent[:35], sent),
    ):
        job = StoreJob(own, spark, stages)
        with monkeypatch.context() as patch:
            patch.setattr("strom.pipeline.lake.intake.save_marks", crash)
            with pytest.raises(CrashError):
                take(job, batch(spark, taken), 7)
        job.close()
        take(others, batch(spark, whole), 0)
    others.close()
    assert_tables_are_the_function_of(own, spark, sent)


def test_what_is_settled_behind_a_batch_follows_the_arrivals_and_never_a_clock_that_is_ahead(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    """The last reading waits for its time; one that says it arrived next year is settled by nobody."""
    sent = numbered([reading(at=START + m * 60_000, import_wh=m) for m in range(0, 40, 5)])
    job.process(batch(spark, sent), 0)
    assert job.settled_ms == sent[-1].received - GRACE_MS
    assert fetch(own, "SELECT count(*) FROM load_profile") == [(2,)]
    assert fetch(own, "SELECT newest FROM settled_meters") == [(sent[-2].at,)]
    ahead = time.time_ns() // 1_000_000 + 365 * 24 * HOUR
    job.process(batch(spark, numbered([reading("m2", at=ahead, import_wh=1)], 99)), 1)
    assert job.settled_ms <= time.time_ns() // 1_000_000
    job.settle()
    assert fetch(own, "SELECT meter FROM readings_latest ORDER BY meter") == [("m1",), ("m2",)]


def test_what_the_tables_have_is_noted_though_somebody_else_commits_to_the_lake(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    """As the upkeep of the lake does, between a batch and the time of its last reading."""
    sent = numbered([reading(at=START + m * 60_000, import_wh=m) for m in range(3)])
    job.process(batch(spark, sent), 0)
    assert taken_in(own.postgres_url, TABLES) == {}
    spark.sql(f"ALTER TABLE delta.`{own.lake_root}/readings` SET TBLPROPERTIES ('strom.test' = '1')")

    def is_noted() -> bool:
        """Each pass runs when it is due."""
        job.tick(sent[-1].received + 60_000)
        return taken_in(own.postgres_url, TABLES) == taken_in(own.postgres_url) == {0: 2}

    until(is_noted, "the marks of the lake are those of the tables")


def test_an_empty_batch_changes_nothing(job: StoreJob, own: Settings, spark: SparkSession) -> None:
    take(job, batch(spark, []), 0)
    assert fetch(own, "SELECT * FROM meters") == []


def test_a_late_reading_corrects_its_slot_and_raises_its_version(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    sparse = numbered(
        [reading(at=START + minute * 60_000, import_wh=minute) for minute in (0, 10, 20, 30, 40)]
    )
    take(job, batch(spark, sparse), 0)
    late = numbered([replace(reading(at=START + 15 * 60_000, import_wh=11), received=START + 41 * 60_000)], 5)
    take(job, batch(spark, late), 1)
    query = "SELECT import_wh, quality, samples, version FROM load_profile ORDER BY start"
    assert [(float(wh), *rest) for wh, *rest in fetch(own, query)] == [
        (11.0, "measured", 2, 2),
        (19.0, "measured", 2, 2),
    ]


def test_a_tariff_follows_the_rules_of_the_total_and_a_meter_without_has_none(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    """The tariff is switched at 00:30; a late reading corrects the quarter-hours around it."""
    minutes = (0, 10, 20, 30, 40, 50)
    counted = [
        reading(at=START + m * 60_000, import_wh=m, import_t1_wh=min(m, 30), import_t2_wh=7 + max(m - 30, 0))
        for m in minutes
    ]
    plain = [reading("m2", at=START + m * 60_000, import_wh=m, import_w=60) for m in minutes]
    take(job, batch(spark, numbered([*plain, *counted])), 0)
    late = reading(at=START + 15 * 60_000, import_wh=15, import_t1_wh=11, import_t2_wh=7)
    take(job, batch(spark, numbered([replace(late, received=START + HOUR)], 12)), 1)
    query = "SELECT meter, tariff, import_wh, quality, version FROM tariff_profile ORDER BY tariff, start"
    assert [(meter, tariff, float(wh), *rest) for meter, tariff, wh, *rest in fetch(own, query)] == [
        ("m1", 1, 11, "measured", 2),
        ("m1", 1, 19, "measured", 2),
        ("m1", 1, 0, "substitute", 1),
        ("m1", 2, 0, "measured", 2),
        ("m1", 2, 0, "measured", 2),
        ("m1", 2, 15, "substitute", 1),
    ]


def test_quarter_hours_tell_power_and_voltage_at_their_least_mean_and_largest(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    values = [(0, 100, 230.0), (5, 400, 233.5), (10, 0, 228.1), (15, 999, 231.0)]
    sent = [reading(at=START + m * 60_000, import_wh=m, import_w=w, voltage_l2_v=v) for m, w, v in values]
    take(job, batch(spark, numbered(sent)), 0)
    query = (
        "SELECT import_w_min, import_w_mean, import_w_max, voltage_l2_v_min, voltage_l2_v_mean, voltage_l2_v_max, "
        "export_w_mean, voltage_l1_v_min FROM quarter_hours"
    )
    found = [None if value is None else float(value) for value in fetch(own, query)[0]]
    assert found == [0.0, 166.667, 400.0, 228.1, 230.533, 233.5, None, None]


def test_a_late_voltage_is_told_with_its_quarter_hour_though_its_energy_stays(
    job: StoreJob, spark: SparkSession
) -> None:
    sent = numbered([reading(at=START + m * 60_000, import_wh=m, voltage_l1_v=230) for m in range(0, 40, 5)])
    take(job, batch(spark, sent), 0)
    assert job.told()[LOAD_PROFILE] == 2
    late = replace(reading(at=START + 60_000, voltage_l1_v=241.5), received=START + HOUR)
    take(job, batch(spark, numbered([late, replace(late, at=START + 39 * 60_000)], 8)), 1)
    assert job.told()[LOAD_PROFILE] == 3
    take(job, batch(spark, numbered([replace(late, received=START + HOUR + 1)], 10)), 2)
    assert job.told()[LOAD_PROFILE] == 3  # it said nothing new


def habitual() -> list[Sent]:
    """Four weeks of a quiet hour, then a high one."""
    quarters = [START - week * WEEK + quarter * SLOT_MS for week in (4, 3, 2, 1) for quarter in range(5)]
    usual = [reading(at=at, import_wh=100 * number) for number, at in enumerate(quarters)]
    return numbered([*usual, *(reading(at=START + m * 60_000, import_wh=1900 + 70 * m) for m in range(32))])


SPIKES = "SELECT kind, started, ended, value, threshold FROM alerts WHERE kind <> 'silent'"
SPIKE = ("spike", moment(START), None, 4200, 2400)


def test_quarter_hours_that_a_batch_completes_are_held_against_the_habit(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    take(job, batch(spark, habitual()), 0)
    assert fetch(own, SPIKES) == [SPIKE]


def test_what_is_taken_again_is_judged_by_the_rules_of_now_though_its_energy_stays(
    own: Settings, spark: SparkSession
) -> None:
    readings = batch(spark, habitual())
    for floor_w, expected in ((50_000, []), (own.rules.spike_floor_w, [SPIKE]), (50_000, [])):
        rules = own.rules.model_copy(update={"spike_floor_w": floor_w})
        with closing(StoreJob(own.model_copy(update={"rules": rules}), spark)) as job:
            take(job, readings, 0)
            job.take_again(lambda: lake_rows(readings), lambda _: None)
        assert fetch(own, SPIKES) == expected


def test_a_late_voltage_of_one_phase_raises_nothing_about_another(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    """L1 was high for twenty minutes; what came late for L2 is judged with what was before, L1 as it was."""
    ten = 10 * 60_000
    volts = [(259.0, 230.0), (259.0, 190.0), (230.0, 190.0), (230.0, 190.0), (230.0, 230.0), (230.0, 230.0)]
    sent = [
        reading(at=START + place * ten, voltage_l1_v=one, voltage_l2_v=two)
        for place, (one, two) in enumerate(volts)
    ]
    take(job, batch(spark, numbered(sent)), 0)
    late = replace(reading(at=START + 3 * ten + 1, voltage_l2_v=191), received=sent[-1].received)
    take(job, batch(spark, numbered([late], len(sent))), 1)
    query = "SELECT part, started, ended FROM alerts WHERE kind = 'voltage' ORDER BY part"
    assert fetch(own, query) == [
        ("l1", moment(START), moment(START + 2 * ten)),
        ("l2", moment(START + ten), moment(START + 4 * ten)),
    ]


def test_a_raw_topic_made_anew_is_read_from_its_beginning(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    first = numbered([reading(at=START + second * 1000, import_wh=second) for second in range(5)])
    take(job, batch(spark, first), 0)
    anew = numbered([reading(at=START + 10_000 + second * 1000, import_wh=9) for second in range(3)])
    take(job, batch(spark, anew), 1)
    assert fetch(own, "SELECT at FROM readings_latest") == [(moment(START + 12_000),)]


def test_the_first_counter_of_a_meter_replaces_what_was_calculated_from_power(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    powers = [reading(at=START + minute * 60_000, import_w=100) for minute in range(0, 40, 5)]
    take(job, batch(spark, numbered(powers)), 0)
    assert {quality for (quality,) in fetch(own, "SELECT quality FROM load_profile")} == {"calculated"}
    counted = [
        reading(at=START + minute * 60_000, import_wh=minute, import_w=100) for minute in range(45, 80, 5)
    ]
    take(job, batch(spark, numbered(counted, len(powers))), 1)
    assert fetch(own, "SELECT start, import_wh FROM load_profile ORDER BY start") == [
        (moment(START + 45 * 60_000), 15),
        (moment(START + 60 * 60_000), 15),
    ]


def test_a_hostile_counter_and_power_do_not_stop_the_stream(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    huge = 999_999_999_999_999
    sent = [
        reading(at=START, import_wh=huge, export_w=huge),
        reading(at=START + 12 * HOUR, import_wh=1, export_w=huge),
    ]
    take(job, batch(spark, numbered([*sent, reading(at=START + 13 * HOUR, import_wh=2, export_w=huge)])), 0)
    take(job, batch(spark, numbered([reading(at=START + 14 * HOUR, import_wh=3, export_w=0)], 3)), 1)
    assert fetch(own, "SELECT count(*) FROM load_profile WHERE export_wh > 0") == [(8,)]


def test_a_stage_that_does_not_exist_is_refused_by_name(own: Settings, spark: SparkSession) -> None:
    with pytest.raises(StromError, match="profil is not a stage"):
        StoreJob(own, spark, stages=("profil",))
