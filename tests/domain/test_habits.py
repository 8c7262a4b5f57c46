"""Habits: what is far outside of them, after a warm-up, in local hours and over the days on which the clocks change."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from strom.domain.alerts import Alert
from strom.domain.day_habits import EXPORT, NIGHT, DayHabit, DayLimits
from strom.domain.habits import HabitLimits, hours_span, spike_alerts, spike_hours, spikes_of
from strom.domain.slots import SLOT_MS

ZONE = "Europe/Vienna"
MONDAY = date(2026, 2, 2)
SPIKE_LIMITS = HabitLimits(mads=8, floor_mwh=500_000, warmup=3, back=8)
LIMITS = DayLimits(
    night=HabitLimits(mads=6, floor_mwh=75_000, warmup=7, back=14),
    night_hours=(1, 5),
    export_hours=(10, 16),
    export_least_mwh=50_000,
    export_days=12,
    export_of_days=14,
    export_back=60,
)


def at(day: date, hour: int, minute: int = 0) -> int:
    return int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(ZONE)).timestamp()) * 1000


def mondays(weeks: int, watts: int = 400) -> dict[int, int | None]:
    """The quarter-hours from 18 to 19 o'clock of the Mondays before, with a little noise."""
    return {
        at(MONDAY - timedelta(weeks=week), 18, quarter): (watts + 10 * week) * 250
        for week in range(1, weeks + 1)
        for quarter in (0, 15, 30, 45)
    }


def spike_of(rows: dict[int, int | None], limits: HabitLimits = SPIKE_LIMITS) -> list[Alert]:
    return spike_alerts("m1", spikes_of(rows, limits, ZONE), max(rows), ZONE)


def test_far_more_than_usual_at_this_hour_of_the_week_is_a_spike() -> None:
    (alert,) = spike_of({**mondays(8), at(MONDAY, 18): 5_000 * 250})
    assert (alert.started, alert.ended) == (at(MONDAY, 18), None)
    assert (alert.value, alert.threshold) == (5_000, 2_445)
    assert "draws up to 5000 W since 02.02. 18:00, 445 W is usual" in alert.text


def test_an_hour_of_the_week_is_judged_only_after_three_weeks() -> None:
    assert spike_of({**mondays(2), at(MONDAY, 18): 5_000 * 250}) == []
    assert len(spike_of({**mondays(3), at(MONDAY, 18): 5_000 * 250})) == 1


def test_the_weeks_that_make_the_habit_are_as_many_as_set() -> None:
    rows = {**mondays(8), at(MONDAY, 18): 5_000 * 250}
    (alert,) = spike_of(rows, replace(SPIKE_LIMITS, back=4))
    assert "425 W is usual" in alert.text
    assert spike_of(rows, replace(SPIKE_LIMITS, back=2)) == []


def test_another_hour_or_another_weekday_tells_nothing() -> None:
    assert spike_of({**mondays(8), at(MONDAY, 19): 5_000 * 250}) == []
    assert spike_of({**mondays(8), at(MONDAY + timedelta(days=1), 18): 5_000 * 250}) == []


def test_what_varies_much_may_vary_much() -> None:
    car = {
        start: mwh
        for week in range(1, 9)
        for start, mwh in [(at(MONDAY - timedelta(weeks=week), 18), 250 * (400 if week % 2 else 4000))]
    }
    assert spike_of({**car, at(MONDAY, 18): 11_000 * 250}) == []


def test_the_floor_keeps_small_deviations_of_steady_meters_quiet() -> None:
    assert spike_of({**mondays(8), at(MONDAY, 18): 2_400 * 250}) == []


def test_neighbouring_spikes_are_one_alert_that_ends_with_a_usual_quarter_hour() -> None:
    rows = {**mondays(8)}
    rows |= {at(MONDAY, 18): 5_000 * 250, at(MONDAY, 18, 15): 6_000 * 250, at(MONDAY, 18, 30): 400 * 250}
    (alert,) = spike_of(rows)
    assert (alert.ended, alert.value) == (at(MONDAY, 18, 30), 6_000)
    assert "drew up to 6000 W from 02.02. 18:00 to 02.02. 18:30" in alert.text
    assert alert.text.endswith("was something on that should not have been?")


def test_the_same_local_hour_counts_when_the_clocks_change() -> None:
    sunday = date(2026, 4, 5)
    before = spike_hours((sunday, 2), 8, ZONE)
    assert before[0][0] == before[0][1]  # on 29 March the clocks skip it
    assert before[1] == (at(date(2026, 3, 22), 2), at(date(2026, 3, 22), 3))
    assert (
        hours_span(date(2026, 10, 25), 2, 3, ZONE)[1] - hours_span(date(2026, 10, 25), 2, 3, ZONE)[0]
        == 8 * SLOT_MS
    )


def days(*values: int | None, until: date = MONDAY) -> dict[date, int]:
    """The last one is `until`; None: too little is known of that day."""
    dated = {until - timedelta(days=back): value for back, value in enumerate(reversed(values))}
    return {day: value for day, value in dated.items() if value is not None}


def alerts_of(habit: DayHabit, told: dict[date, int], limits: DayLimits) -> list[Alert]:
    return habit.alerts("m1", told, min(told), limits, ZONE)


def night(*watts: int | None, limits: DayLimits = LIMITS) -> list[Alert]:
    return alerts_of(NIGHT, days(*(None if value is None else value * 250 for value in watts)), limits)


def test_a_night_in_which_something_was_left_on_is_told_in_the_morning() -> None:
    (alert,) = night(*[120, 140, 130] * 5, 900)
    assert (alert.started, alert.ended) == (at(MONDAY, 1), None)
    assert (alert.value, alert.threshold) == (900, 430)
    assert "never draws less than 900 W since 02.02. 01:00, 130 W is usual" in alert.text


def test_nights_are_judged_only_when_seven_of_fourteen_are_known() -> None:
    assert night(*[130] * 6, 900) == []
    assert len(night(*[130] * 7, 900)) == 1
    assert night(*[130] * 7, *[None] * 8, 900) == []


def test_neighbouring_nights_are_one_alert_until_a_good_one() -> None:
    (alert,) = night(*[130] * 14, 900, 950, None, 940, 130)
    assert (alert.started, alert.ended) == (
        at(MONDAY - timedelta(days=4), 1),
        at(MONDAY - timedelta(days=1), 5),
    )
    assert alert.value == 950
    assert "never drew less than 950 W from 29.01. 01:00 to 01.02. 05:00" in alert.text


def test_what_stays_on_becomes_a_habit() -> None:
    assert [alert.ended is None for alert in night(*[130] * 14, *[900] * 14)] == [False]


def test_a_night_is_in_the_hours_and_judged_by_the_nights_that_are_set() -> None:
    few = replace(LIMITS, night=replace(LIMITS.night, warmup=2, back=3), night_hours=(0, 6))
    (alert,) = night(*[900] * 11, *[130] * 3, 900, limits=few)
    assert (alert.started, alert.threshold) == (at(MONDAY, 0), 430)
    (alert,) = night(*[130] * 3, 900, 130, limits=few)
    assert alert.ended == at(MONDAY - timedelta(days=1), 6)
    assert night(130, None, 130, None, 900, limits=few) == []


def export(*watt_hours: int | None, limits: DayLimits = LIMITS) -> list[Alert]:
    return alerts_of(EXPORT, days(*(None if value is None else value * 1000 for value in watt_hours)), limits)


def test_a_plant_that_exported_every_day_and_does_no_more_is_told() -> None:
    (alert,) = export(*[4000] * 14, 0)
    assert (alert.started, alert.ended) == (at(MONDAY, 10), None)
    assert (alert.value, alert.threshold) == (0, 50)
    assert alert.text.startswith("m1 feeds nothing worth mentioning")
    assert "since 02.02. 10:00, though it did on 14 of the 14 days before" in alert.text


def test_a_plant_that_stays_off_stays_one_alert() -> None:
    (alert,) = export(*[4000] * 14, *[0] * 30)
    assert (alert.started, alert.ended) == (at(MONDAY - timedelta(days=29), 10), None)


def test_the_alert_ends_when_the_plant_is_back() -> None:
    (alert,) = export(*[4000] * 14, 0, 0, 3000)
    assert alert.ended == at(MONDAY - timedelta(days=1), 16)
    assert alert.text.startswith("m1 fed nothing worth mentioning")
    assert alert.text.endswith("was the solar plant off?")


def test_who_exports_only_on_some_days_is_not_told() -> None:
    assert export(*[4000, 0] * 10, 0) == []
    assert export(*[0] * 20) == []
    assert export(*[4000] * 11, 0) == []


def test_days_of_which_too_little_is_known_do_not_count() -> None:
    assert len(export(*[4000] * 7, None, None, *[4000] * 7, 0, None, 0)) == 1


def test_export_is_expected_in_the_hours_and_after_the_days_that_are_set() -> None:
    short = replace(LIMITS, export_hours=(11, 24), export_days=2, export_of_days=3, export_back=5)
    (alert,) = export(4000, 0, 4000, 0, limits=short)
    assert alert.started == at(MONDAY, 11)
    assert "though it did on 2 of the 3 days before" in alert.text
    # A plant that is off is told of as long as the days on which it ran are looked at.
    assert [alert.ended for alert in export(*[4000] * 3, *[0] * 4, limits=short)] == [None]
    (alert,) = export(*[4000] * 3, *[0] * 5, limits=short)
    assert alert.ended == at(MONDAY, 0)
