"""Whatever the order, the cuts, the repeats and the crashes: tables and lake are the pure function of the readings."""

import random
from contextlib import closing
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from strom.domain.alerts import KINDS, SILENT
from strom.domain.chain import Chain
from strom.domain.load_profile import Direction, Row, Sample, evaluate, profile
from strom.domain.reading import CLOCK_WRONG
from strom.domain.slots import SLOT_MS, slot_of
from strom.domain.statistics import QUANTITIES, Band, Statistics
from strom.domain.tariffs import TARIFFS, Tariff
from strom.errors import StromError
from strom.pipeline.lake.archive import lake_rows
from strom.pipeline.limits import Limits
from strom.pipeline.portions import MOST_CELLS
from strom.pipeline.stages import STORE_STAGES
from strom.pipeline.store_job import StoreJob
from strom.settings import GroupSettings, RuleSettings, Settings
from strom.store import tariff_tables
from strom.store.alert_tables import Scope, load_alerts
from strom.store.profile_tables import load_gaps, load_rows
from strom.store.statistics_tables import load_statistics
from strom.store.writes import Writer
from strom.streams.topics import LOAD_PROFILE
from tests.pipeline.batches import START, Sent, batch, fetch, moment, numbered, reading
from tests.pipeline.expected_alerts import expected_alerts, milli
from tests.pipeline.expected_tariffs import expected_tariffs, with_tariffs

pytestmark = pytest.mark.stack
HOUR = 3_600_000
WEEK = 7 * 24 * HOUR


def history(chance: random.Random, meter: str) -> list[Sent]:
    """A meter with everything that can go wrong: outages, jumps, resets, bad voltage, overload, a wrong clock …"""
    at = START + chance.randrange(20 * 60_000)
    counters = {"import_wh": chance.uniform(0, 5000), "export_wh": chance.uniform(0, 50)}
    powered = chance.random() < 0.3
    watts, lost = 0.0, False
    # From one reading to another the clock is behind, or tells an impossible time.
    behind, impossible = (range(first := chance.randrange(60), first + 12) for _ in range(2))
    found = []
    for index in range(70):
        at += chance.choice(
            [5_000, 60_000, 61_000, 300_000, 900_000 - at % 900_000, chance.choice([HOUR, 3 * HOUR])]
        )
        for name in counters:
            growth = chance.choice([0, 0.7, 3.1, 20, -4, -9.9] + [-3000, 9000] * (chance.random() < 0.3))
            counters[name] = round(max(0, counters[name] + growth), 3)
        shown: dict[str, float] = {} if powered else dict(counters)
        watts = chance.choice([watts, watts, round(chance.uniform(0, 9000), 3)])
        lost = lost if chance.random() < 0.7 else not lost
        shown["import_w"] = watts
        shown["voltage_l1_v"] = round(chance.choice([230, 230, 230, 230, 259, 190]) + chance.random(), 1)
        if chance.random() < 0.8:
            shown["voltage_l2_v"] = 11.5 if lost else 231.5
        arrived = at + 200 + (20 * 60_000 if index in behind else 0)
        wrong = index in impossible and index not in behind
        flags, received = ((CLOCK_WRONG,), at) if wrong else ((), arrived)
        found.append(replace(reading(meter, at, **shown), received=received, flags=flags))
    return found


def disturbed(chance: random.Random, readings: list[Sent]) -> list[Sent]:
    """Some come late, some twice."""
    keyed = [(i + chance.choice([0] * 12 + [30, 90]), each) for i, each in enumerate(readings)]
    keyed += [(i + chance.randrange(60), each) for i, each in enumerate(readings) if chance.random() < 0.05]
    return [each for _, each in sorted(keyed, key=lambda pair: pair[0])]


def chain_of(settings: Settings, readings: list[Sent], direction: Direction) -> Chain:
    samples = [
        Sample(each.at, milli(each, f"{direction}_wh"), milli(each, f"{direction}_w")) for each in readings
    ]
    return evaluate(samples, Limits(settings).energy(readings[0].meter))


def expected_rows(settings: Settings, readings: list[Sent]) -> dict[tuple[str, int], Row]:
    found = {}
    for meter in {each.meter for each in readings}:
        own = [each for each in readings if each.meter == meter]
        for row in profile({direction: chain_of(settings, own, direction) for direction in Direction}):
            found[meter, row.start] = row
    return found


def expected_gaps(
    settings: Settings, readings: list[Sent]
) -> dict[tuple[str, int, int], dict[Direction, int]]:
    found: dict[tuple[str, int, int], dict[Direction, int]] = {}
    for meter in {each.meter for each in readings}:
        own = [each for each in readings if each.meter == meter]
        for direction in Direction:
            for gap in chain_of(settings, own, direction).gaps.values():
                if gap is not None:
                    found.setdefault((meter, gap.start, gap.end), {})[direction] = gap.mwh
    return found


def expected_statistics(readings: list[Sent]) -> dict[tuple[str, int], Statistics]:
    largest: dict[tuple[str, int, str], int] = {}
    for each in readings:
        for name in set(QUANTITIES) & set(each.numbers):
            key, value = (each.meter, each.at, name), round(each.numbers[name] * 1000)
            largest[key] = max(value, largest.get(key, value))
    values: dict[tuple[str, int], dict[str, list[int]]] = {
        (each.meter, slot_of(each.at)): {} for each in readings
    }
    for (meter, at, name), value in largest.items():
        values[meter, slot_of(at)].setdefault(name, []).append(value)
    return {key: {name: Band.of(own) for name, own in found.items()} for key, found in values.items()}


def assert_tariffs_are_the_function_of(settings: Settings, readings: list[Sent]) -> None:
    rows, gaps = expected_tariffs(Limits(settings), readings)
    tariffs = [
        (Tariff(meter, number), 0) for meter in {each.meter for each in readings} for number in TARIFFS
    ]
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        stored = tariff_tables.load_rows(work, tariffs)
        assert {key: each.row for key, each in stored.items()} == rows
        assert tariff_tables.load_gaps(work, tariffs) == gaps
    counts = "SELECT (SELECT count(*) FROM tariff_profile), (SELECT count(*) FROM tariff_gaps)"
    assert fetch(settings, counts) == [(len(rows), len(gaps))]


def assert_tables_are_the_function_of(settings: Settings, spark: SparkSession, readings: list[Sent]) -> None:
    meters = sorted({each.meter for each in readings})
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        rows = {key: stored.row for key, stored in load_rows(work, [(meter, 0) for meter in meters]).items()}
        gaps = load_gaps(work, [(meter, 0) for meter in meters])
        statistics = load_statistics(work, expected_statistics(readings))
        parts = ("", "import", "export", "l1", "l2", "l3")
        kinds = [(kind, part) for kind in KINDS if kind != SILENT for part in parts]
        alerts = load_alerts(work, [Scope(meter, kind, part, 0) for meter in meters for kind, part in kinds])
    assert_tariffs_are_the_function_of(settings, readings)
    assert rows == expected_rows(settings, readings)
    assert gaps == expected_gaps(settings, readings)
    assert statistics == expected_statistics(readings)
    assert fetch(settings, "SELECT count(*) FROM slot_statistics") == [(len(statistics),)]
    assert {alert.id: alert for alert in alerts} == expected_alerts(Limits(settings), readings)
    newest = {meter: max(each.at for each in readings if each.meter == meter) for meter in meters}
    latest = fetch(settings, "SELECT meter, at FROM readings_latest ORDER BY meter")
    assert latest == [(meter, moment(at)) for meter, at in sorted(newest.items())]
    lake = spark.read.format("delta").load(f"{settings.lake_root}/readings").select("origin").collect()
    assert sorted(row.origin for row in lake) == sorted(each.origin for each in readings)


class CrashError(Exception):
    """Stands for a kill at this moment: nothing after it happens."""


def with_groups(settings: Settings) -> Settings:
    """All alerts are within reach of the histories, and two meters have rules of their own."""
    rules = RuleSettings(agreed_w=4_000)
    groups = {
        "patient": GroupSettings(
            meters=["m2", "x*"],
            agreed_w=6_000,
            noise_wh=2,
            phase_loss_seconds=90,
            voltage_severe_high_v=259.4,
        ),
        "small": GroupSettings(meters=["m[2-9]", "?3"], limit_w=900, clock_seconds=1500),
    }
    return settings.model_copy(update={"rules": rules, "groups": groups})


@pytest.mark.parametrize(("seed", "most_cells"), [(1, MOST_CELLS), (2, 40)])
def test_any_order_repeats_and_crashes_give_the_function_of_the_readings(
    own: Settings, spark: SparkSession, seed: int, most_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few cells at once nearly every batch is taken in in portions."""
    monkeypatch.setattr("strom.pipeline.portions.MOST_CELLS", most_cells)
    own = with_groups(own)
    chance = random.Random(seed)
    merged = []
    for meter in ("m1", "m2", "m3", "m4"):
        readings = history(chance, meter)
        if meter in ("m1", "m2"):
            readings = with_tariffs(random.Random(f"{meter} {seed}"), readings)
        merged += disturbed(chance, readings)
    chance.shuffle(order := [each.meter for each in merged])
    queues = {meter: iter([each for each in merged if each.meter == meter]) for meter in set(order)}
    sent = numbered([next(queues[meter]) for meter in order])
    job = StoreJob(own, spark)
    place, number = 0, 0
    while place < len(sent):
        size = chance.choice([1, 80, 120, 200])
        # What `normalise` repeats after a restart: some of what came before comes once more.
        part = sent[max(0, place - chance.choice([0, 0, 15])) : place + size]
        if chance.random() < 0.3:
            with monkeypatch.context() as patch:
                patch.setattr("strom.pipeline.store_job.save_marks", _crash)
                with pytest.raises(CrashError):
                    job.process(batch(spark, part), number)
            job = StoreJob(own, spark)
        for _ in range(chance.choice([1, 1, 2])):
            job.process(batch(spark, part), number)
        place, number = place + size, number + 1
    job.close()
    assert_tables_are_the_function_of(own, spark, sent)
    tariffs = fetch(own, "SELECT DISTINCT meter, tariff FROM tariff_profile ORDER BY 1, 2")
    assert tariffs == [("m1", 1), ("m1", 2), ("m2", 1), ("m2", 2)]
    found = {quality for (quality,) in fetch(own, "SELECT DISTINCT quality FROM tariff_profile")}
    assert found == {"measured", "substitute", "missing"}
    flags = fetch(own, "SELECT DISTINCT unnest(flags) FROM tariff_profile ORDER BY 1")
    assert flags == [("export-jump",), ("export-reset",), ("import-jump",), ("import-reset",)]


def _crash(*_: object) -> None:
    raise CrashError


def test_the_lake_holds_a_reading_once_whichever_stages_bring_it(own: Settings, spark: SparkSession) -> None:
    sent = numbered([reading(at=START + m * 60_000, import_wh=m, voltage_l1_v=230) for m in range(40)])
    alone, together = StoreJob(own, spark, stages=("archive",)), StoreJob(own, spark)
    alone.process(batch(spark, sent[:15]), 0)
    together.process(batch(spark, sent[:25]), 0)
    alone.process(batch(spark, sent[15:30]), 1)
    together.process(batch(spark, sent[25:]), 1)
    alone.process(batch(spark, sent[30:]), 2)
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
            patch.setattr("strom.pipeline.store_job.save_marks", _crash)
            with pytest.raises(CrashError):
                job.process(batch(spark, taken), 7)
        job.close()
        others.process(batch(spark, whole), 0)
    others.close()
    assert_tables_are_the_function_of(own, spark, sent)


def test_an_empty_batch_changes_nothing(job: StoreJob, own: Settings, spark: SparkSession) -> None:
    job.process(batch(spark, []), 0)
    assert fetch(own, "SELECT * FROM meters") == []


def test_a_late_reading_corrects_its_slot_and_raises_its_version(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    sparse = numbered(
        [reading(at=START + minute * 60_000, import_wh=minute) for minute in (0, 10, 20, 30, 40)]
    )
    job.process(batch(spark, sparse), 0)
    late = numbered([replace(reading(at=START + 15 * 60_000, import_wh=11), received=START + 41 * 60_000)], 5)
    job.process(batch(spark, late), 1)
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
    job.process(batch(spark, numbered([*plain, *counted])), 0)
    late = reading(at=START + 15 * 60_000, import_wh=15, import_t1_wh=11, import_t2_wh=7)
    job.process(batch(spark, numbered([replace(late, received=START + HOUR)], 12)), 1)
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
    job.process(batch(spark, numbered(sent)), 0)
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
    job.process(batch(spark, sent), 0)
    assert job.told()[LOAD_PROFILE] == 2
    late = replace(reading(at=START + 60_000, voltage_l1_v=241.5), received=START + HOUR)
    job.process(batch(spark, numbered([late, replace(late, at=START + 39 * 60_000)], 8)), 1)
    assert job.told()[LOAD_PROFILE] == 3
    job.process(batch(spark, numbered([replace(late, received=START + HOUR + 1)], 10)), 2)
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
    job.process(batch(spark, habitual()), 0)
    assert fetch(own, SPIKES) == [SPIKE]


def test_what_is_taken_again_is_judged_by_the_rules_of_now_though_its_energy_stays(
    own: Settings, spark: SparkSession
) -> None:
    readings = batch(spark, habitual())
    for floor_w, expected in ((50_000, []), (own.rules.spike_floor_w, [SPIKE]), (50_000, [])):
        rules = own.rules.model_copy(update={"spike_floor_w": floor_w})
        with closing(StoreJob(own.model_copy(update={"rules": rules}), spark)) as job:
            job.process(readings, 0)
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
    job.process(batch(spark, numbered(sent)), 0)
    late = replace(reading(at=START + 3 * ten + 1, voltage_l2_v=191), received=sent[-1].received)
    job.process(batch(spark, numbered([late], len(sent))), 1)
    query = "SELECT part, started, ended FROM alerts WHERE kind = 'voltage' ORDER BY part"
    assert fetch(own, query) == [
        ("l1", moment(START), moment(START + 2 * ten)),
        ("l2", moment(START + ten), moment(START + 4 * ten)),
    ]


def test_a_raw_topic_made_anew_is_read_from_its_beginning(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    first = numbered([reading(at=START + second * 1000, import_wh=second) for second in range(5)])
    job.process(batch(spark, first), 0)
    anew = numbered([reading(at=START + 10_000 + second * 1000, import_wh=9) for second in range(3)])
    job.process(batch(spark, anew), 1)
    assert fetch(own, "SELECT at FROM readings_latest") == [(moment(START + 12_000),)]


def test_the_first_counter_of_a_meter_replaces_what_was_calculated_from_power(
    job: StoreJob, own: Settings, spark: SparkSession
) -> None:
    powers = [reading(at=START + minute * 60_000, import_w=100) for minute in range(0, 40, 5)]
    job.process(batch(spark, numbered(powers)), 0)
    assert {quality for (quality,) in fetch(own, "SELECT quality FROM load_profile")} == {"calculated"}
    counted = [
        reading(at=START + minute * 60_000, import_wh=minute, import_w=100) for minute in range(45, 80, 5)
    ]
    job.process(batch(spark, numbered(counted, len(powers))), 1)
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
    job.process(batch(spark, numbered([*sent, reading(at=START + 13 * HOUR, import_wh=2, export_w=huge)])), 0)
    job.process(batch(spark, numbered([reading(at=START + 14 * HOUR, import_wh=3, export_w=0)], 3)), 1)
    assert fetch(own, "SELECT count(*) FROM load_profile WHERE export_wh > 0") == [(8,)]


def test_a_stage_that_does_not_exist_is_refused_by_name(own: Settings, spark: SparkSession) -> None:
    with pytest.raises(StromError, match="profil is not a stage"):
        StoreJob(own, spark, stages=("profil",))
