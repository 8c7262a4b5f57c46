"""Alerts: when they begin and end, what they say, and that the same event is always the same alert."""

from dataclasses import replace

from strom.domain.alerts import (
    WINDOW_MS,
    Alert,
    VoltageBounds,
    VoltageMean,
    counter_back,
    jump,
    voltage_alerts,
)

ZONE = "Europe/Vienna"
BOUNDS = VoltageBounds(low_mv=207_000, high_mv=253_000, severe_low_mv=195_500, severe_high_mv=253_000)
NOON = 1_767_265_200_000  # 2026-01-01 12:00 in Vienna


def means(*volts: float) -> list[VoltageMean]:
    """Neighbouring windows from noon on with these means of three readings each."""
    return [VoltageMean(NOON + i * WINDOW_MS, round(volt * 3000), 3) for i, volt in enumerate(volts)]


def alerts_of(*volts: float, windows: int | None = None, bounds: VoltageBounds = BOUNDS) -> list[Alert]:
    current = NOON + (len(volts) if windows is None else windows) * WINDOW_MS
    return voltage_alerts("m1", "l1", means(*volts), current, bounds, ZONE)


def test_alerts_about_other_things_have_other_ids() -> None:
    ids = {
        counter_back("m1", "import", NOON, 20_000, 10_000, ZONE).id,
        counter_back("m1", "export", NOON, 20_000, 10_000, ZONE).id,
        counter_back("m2", "import", NOON, 20_000, 10_000, ZONE).id,
        counter_back("m1", "import", NOON + 1, 20_000, 10_000, ZONE).id,
    }
    assert len(ids) == 4


def test_a_counter_that_fell_says_by_how_much() -> None:
    alert = counter_back("m1", "import", NOON, 5_020_000, 10_000, ZONE)
    assert (alert.value, alert.threshold, alert.ended) == (5020, 10, NOON)
    assert "fell by 5.020 kWh" in alert.text


def test_a_counter_that_jumped_says_what_is_possible() -> None:
    alert = jump("m1", "export", NOON, 5_020_000, 725_500, ZONE)
    assert (alert.value, alert.threshold, alert.started, alert.ended) == (5020, 725.5, NOON, NOON)
    assert "export counter of m1 jumped by 5.020 kWh at 01.01. 12:00" in alert.text
    assert "can carry 0.726 kWh" in alert.text


def test_voltages_within_the_bounds_raise_nothing() -> None:
    assert alerts_of(207, 230, 253) == []


def test_neighbouring_bad_windows_are_one_alert_with_the_worst_mean() -> None:
    (alert,) = alerts_of(230, 254, 258.5, 255, 230)
    assert (alert.started, alert.ended) == (NOON + WINDOW_MS, NOON + 4 * WINDOW_MS)
    assert (alert.value, alert.threshold, alert.severe) == (258.5, 253, True)
    assert "was too high from 01.01. 12:10 to 01.01. 12:40" in alert.text


def test_an_alert_stays_open_while_the_last_window_that_is_over_is_bad() -> None:
    (alert,) = alerts_of(230, 200)
    assert alert.ended is None
    assert not alert.severe
    assert "is too low since 01.01. 12:10" in alert.text


def test_a_window_in_progress_is_not_judged() -> None:
    assert alerts_of(230, 200, windows=1) == []


def test_a_hole_in_the_data_ends_an_alert() -> None:
    assert [alert.ended for alert in alerts_of(200, windows=5)] == [NOON + WINDOW_MS]


def test_low_after_high_is_another_alert() -> None:
    assert [alert.threshold for alert in alerts_of(260, 190)] == [253, 207]


def test_very_low_is_severe() -> None:
    assert [alert.severe for alert in alerts_of(195.4, 230, 195.5)] == [True, False]


def test_very_high_is_severe_from_where_it_is_set() -> None:
    patient = replace(BOUNDS, severe_high_mv=258_000)
    found = alerts_of(253.1, 230, 258, 230, 254, 258.1, bounds=patient)
    assert [(alert.threshold, alert.severe) for alert in found] == [(253, False), (253, False), (253, True)]
