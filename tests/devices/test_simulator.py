"""The simulated fleet: the same bytes for the same seed, numbers that agree, a plausible day."""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from statistics import mean

import pytest

from strom.devices.simulator import Fleet, Push, Wish
from strom.devices.simulator.days import day_at, number_of
from strom.devices.simulator.dialects import dialect_named
from strom.devices.simulator.fleet import rhythm as rhythm_of
from strom.devices.simulator.premises import Kind
from strom.domain.obis import SPELLINGS
from strom.errors import StromError

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOON = ms("2026-06-17T11:00")  # a Wednesday


def shown(payload: bytes) -> dict[str, float]:
    """The registers of a payload by their field, as numbers."""
    found = {}
    for key, entry in json.loads(payload).items():
        register = SPELLINGS.get(key)
        if register is not None and register.unit and entry["value"] is not None:
            found[register.field] = float(entry["value"])
    return found


def by_meter(pushes: Iterable[Push]) -> dict[str, list[Push]]:
    found: dict[str, list[Push]] = defaultdict(list)
    for push in pushes:
        found[push.adapter.key].append(push)
    return found


def total(values: dict[str, float], direction: str) -> float | None:
    tariffs = [values[f"{direction}_t{n}_wh"] for n in range(1, 5) if f"{direction}_t{n}_wh" in values]
    return values.get(f"{direction}_wh", sum(tariffs) if tariffs else None)


def test_the_same_seed_start_and_interval_give_the_same_bytes() -> None:
    first = [
        (push.publish_ms, push.topic, push.payload)
        for push in Fleet(60, seed=7).readings(NOON, NOON + 60_000, 5)
    ]
    second = [
        (push.publish_ms, push.topic, push.payload)
        for push in Fleet(60, seed=7).readings(NOON, NOON + 60_000, 5)
    ]
    assert first == second
    assert first != [
        (p.publish_ms, p.topic, p.payload) for p in Fleet(60, seed=8).readings(NOON, NOON + 60_000, 5)
    ]


def test_a_moment_has_the_same_state_whatever_was_asked_before() -> None:
    fresh, used = Fleet(40, seed=3), Fleet(40, seed=3)
    for adapter in used.adapters:
        adapter.payload(NOON - 400 * DAY_MS)
        adapter.payload(NOON + DAY_MS)
    for one, other in zip(fresh.adapters, used.adapters, strict=True):
        assert one.payload(NOON) == other.payload(NOON)


def test_a_larger_fleet_holds_the_smaller_one() -> None:
    small, large = Fleet(20), Fleet(200)
    assert [a.payload(NOON) for a in small.adapters] == [a.payload(NOON) for a in large.adapters[:20]]


@pytest.mark.parametrize("begin", ["2026-06-17T11:00", "2026-11-14T16:30", "2026-01-18T23:00"])
def test_counters_are_the_integral_of_the_power_shown_to_the_watt_hour(begin: str) -> None:
    start = ms(begin)
    for meter, pushes in by_meter(Fleet(40).readings(start, start + 90 * 60_000, 5)).items():
        values = [shown(push.payload) for push in pushes]
        for direction in ("import", "export"):
            if total(values[0], direction) is None or f"{direction}_w" not in values[0]:
                continue
            integral = sum(
                now[f"{direction}_w"] * (after.publish_ms - push.publish_ms) / HOUR_MS
                for now, (push, after) in zip(values, pairwise(pushes), strict=False)
            )
            counted = (total(values[-1], direction) or 0) - (total(values[0], direction) or 0)
            registers = 2 if f"{direction}_t2_wh" in values[0] else 1  # each is cut to the Wh
            assert abs(counted - integral) < registers + 0.2, (meter, direction)


def test_energy_is_the_exact_integral_of_power_over_a_whole_day() -> None:
    for adapter in Fleet(20).adapters[::3]:
        meter, start = adapter.meter, NOON + adapter.meter.offset_ms
        steps = range(start, start + DAY_MS, meter.step_ms)
        states = [meter.measure(moment) for moment in steps]
        hours = meter.step_ms / HOUR_MS
        end = meter.measure(start + DAY_MS)
        assert end.import_wh - states[0].import_wh == pytest.approx(
            sum(s.import_w for s in states) * hours, abs=0.001
        )
        assert end.export_wh - states[0].export_wh == pytest.approx(
            sum(s.export_w for s in states) * hours, abs=0.001
        )


def test_counters_never_fall_over_days_with_every_kind_of_premises() -> None:
    start = ms("2025-12-29T00:00")
    for meter, pushes in by_meter(Fleet(45).readings(start, start + 9 * DAY_MS, 1800)).items():
        values = [shown(push.payload) for push in pushes]
        for one, other in pairwise(values):
            for field in one:
                if field.endswith(("wh", "varh")):
                    assert other[field] >= one[field], (meter, field)


def test_power_flows_one_way_at_a_time() -> None:
    for push in Fleet(60).readings(NOON, NOON + 60_000, 5):
        values = shown(push.payload)
        assert not (values.get("import_w") and values.get("export_w"))


def test_power_voltage_current_and_power_factor_agree() -> None:
    seen = 0
    for push in Fleet(60).readings(NOON, NOON + 6 * HOUR_MS, 900):
        values = shown(push.payload)
        if "current_l1_a" in values and "power_factor" in values:
            seen += 1
            apparent = sum(values[f"voltage_l{n}_v"] * values[f"current_l{n}_a"] for n in (1, 2, 3))
            active = values["import_w"] + values["export_w"]
            reactive = values["reactive_import_var"] + values["reactive_export_var"]
            assert apparent * values["power_factor"] == pytest.approx(active, rel=0.02, abs=8)
            assert active**2 + reactive**2 == pytest.approx(apparent**2, rel=0.05, abs=600)
            assert all(200 < values[f"voltage_l{n}_v"] < 253 for n in (1, 2, 3))
    assert seen > 100


def test_a_household_takes_about_400_watts_over_the_year() -> None:
    homes = [a.meter for a in Fleet(400).adapters if a.meter.premises.kind is Kind.HOUSEHOLD]
    begin, end = ms("2025-07-01T00:00"), ms("2026-07-01T00:00")
    hours = (end - begin) / HOUR_MS
    powers = [(m.measure(end).import_wh - m.measure(begin).import_wh) / hours for m in homes]
    assert 330 < mean(powers) < 480
    assert min(powers) > 80
    assert max(powers) < 1500


def test_there_is_no_export_without_sun_and_every_plant_exports_by_day() -> None:
    plants = [a.meter for a in Fleet(80).adapters if a.meter.premises.solar_wh]
    assert len(plants) > 10
    for day in ("2026-01-12", "2026-06-17", "2026-10-04"):
        assert all(meter.measure(ms(f"{day}T23:00")).export_w == 0 for meter in plants)
        assert all(meter.measure(ms(f"{day}T11:00")).export_w > 0 for meter in plants)


def test_summer_gives_more_sun_and_winter_takes_more_heat() -> None:
    fleet = Fleet(80)

    def gained(field: str, begin: str, kind: Kind) -> float:
        meters = [a.meter for a in fleet.adapters if a.meter.premises.kind is kind]
        place = meters[0].measure(NOON)._fields.index(field)
        start, end = ms(begin), ms(begin) + 28 * DAY_MS
        return sum(meter.measure(end)[place] - meter.measure(start)[place] for meter in meters)

    assert gained("export_wh", "2026-06-01", Kind.SOLAR) > 3 * gained("export_wh", "2026-12-01", Kind.SOLAR)
    assert gained("import_wh", "2026-01-01", Kind.HEAT_PUMP) > 2 * gained(
        "import_wh", "2026-07-01", Kind.HEAT_PUMP
    )


def test_evenings_are_high_nights_low_and_sundays_cook_at_noon() -> None:
    homes = [a.meter for a in Fleet(200).adapters if a.meter.premises.kind is Kind.HOUSEHOLD]

    def at(moment: str) -> float:
        start = ms(moment)
        return mean((m.measure(start + HOUR_MS).import_wh - m.measure(start).import_wh) for m in homes)

    assert at("2026-11-11T18:00") > 3 * at("2026-11-11T02:00")
    assert at("2026-11-15T10:30") > 1.2 * at("2026-11-11T10:30")


def test_cars_charge_in_the_evening_with_the_power_of_their_plug() -> None:
    fleet = Fleet(80)
    cars = [a.meter for a in fleet.adapters if a.meter.premises.car]
    peaks = []
    for meter in cars:
        start = ms("2026-11-09T12:00")
        week = [meter.measure(start + step * 900_000).import_w for step in range(7 * 96)]
        assert meter.premises.car is not None
        peaks.append(max(week) > meter.premises.car.watts)
    assert cars
    assert all(peaks)


def test_local_days_follow_summer_time_on_both_odd_days() -> None:
    for day, expected in (("2026-03-29", 92), ("2026-10-25", 100)):
        number = number_of(datetime.fromisoformat(day).date())
        local = [
            (number + shift, slot)
            for shift in (-1, 0)
            for slot, offset in enumerate(day_at(number + shift).offset_ms)
            if datetime.fromtimestamp(((number + shift) * DAY_MS + slot * 900_000 + offset) / 1000, UTC)
            .date()
            .isoformat()
            == day
        ]
        assert len(local) == expected


def test_the_evening_peak_stays_at_the_same_local_hour_when_the_clocks_change() -> None:
    def peak(day: str) -> int:
        curve = day_at(number_of(datetime.fromisoformat(day).date()))
        return curve.quarters[max(range(96), key=lambda slot: curve.household[slot])]

    assert abs(peak("2026-10-23") - peak("2026-10-26")) <= 1


def test_pushes_come_in_order_and_are_spread_over_the_interval() -> None:
    times = [push.publish_ms for push in Fleet(1000).readings(NOON, NOON + 5_000, 5)]
    assert times == sorted(times)
    per_100_ms: dict[int, int] = defaultdict(int)
    for moment in times:
        per_100_ms[moment // 100] += 1
    assert max(per_100_ms.values()) < 2 * len(times) / 50


def test_every_adapter_has_its_own_client_id_and_name() -> None:
    adapters = Fleet(5000).adapters
    assert len({adapter.client_id for adapter in adapters}) == 5000
    assert len({adapter.key for adapter in adapters}) == 5000


def test_history_leaves_out_meters_that_tell_no_time() -> None:
    fleet = Fleet(60)
    silent = {a.key for a in fleet.adapters if not a.dialect.tells_time}
    sent = {push.adapter.key for push in fleet.readings(NOON, NOON + 60_000, 60, history=True)}
    assert silent
    assert sent == {adapter.key for adapter in fleet.adapters} - silent


def test_a_fleet_without_meters_is_refused() -> None:
    with pytest.raises(StromError, match="0 meters"):
        Fleet(0)


@pytest.mark.parametrize("interval_s", [1, 5, 7.5, 60])
def test_the_rhythm_tells_when_each_adapter_pushes(interval_s: float) -> None:
    fleet = Fleet(40)
    pushed: dict[str, list[int]] = {}
    for push in fleet.readings(NOON, NOON + 300_000, interval_s):
        pushed.setdefault(push.adapter.client_id, []).append(push.publish_ms)
    for adapter in fleet.adapters:
        rhythm = rhythm_of(adapter, round(interval_s * 1000))
        first = rhythm.latest(NOON - 1) + rhythm.step_ms
        assert pushed[adapter.client_id] == list(range(first, NOON + 300_000, rhythm.step_ms))


def test_a_fleet_may_be_all_of_one_kind_dialect_and_name() -> None:
    wish = Wish(Kind.SOLAR, dialect_named("short"), "roof")
    adapters = Fleet(5, wish=wish).adapters
    assert {adapter.meter.premises.kind for adapter in adapters} == {Kind.SOLAR}
    assert {adapter.dialect.name for adapter in adapters} == {"short"}
    assert [adapter.name for adapter in adapters] == [f"roof-{number}" for number in range(1, 6)]
    assert Fleet(1, wish=wish).adapters[0].name == "roof"
    assert [adapter.client_id for adapter in adapters] == [adapter.client_id for adapter in Fleet(5).adapters]
    nameless = Fleet(2, wish=Wish(dialect=dialect_named("nameless"), name="roof"))
    assert [adapter.name for adapter in nameless.adapters] == ["", ""]
