"""A wrong clock is told from history that came late, and a window is the same however its parts come."""

from functools import reduce
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from strom.domain.alerts import WINDOW_MS, Alert
from strom.domain.clock import ClockWindow, clock_alerts

ZONE = "Europe/Vienna"
NOON = 1_767_265_200_000  # 2026-01-01 12:00 in Vienna
SECOND = 1000
MINUTE = 60 * SECOND
LIMIT = 5 * MINUTE


def told(received: int, behind: int | None) -> ClockWindow:
    """One reading; None: it told an impossible time."""
    start = received - received % WINDOW_MS
    if behind is None:
        return ClockWindow(start, None, None, None, None, True)
    return ClockWindow(start, received, received, behind, behind, False)


def windows(readings: list[tuple[int, int | None]]) -> list[ClockWindow]:
    by_start: dict[int, list[ClockWindow]] = {}
    for received, behind in readings:
        each = told(received, behind)
        by_start.setdefault(each.start, []).append(each)
    return [reduce(ClockWindow.__add__, own) for own in by_start.values()]


def alerts(*readings: tuple[int, int | None], until: int = WINDOW_MS) -> list[Alert]:
    """Of readings that arrived so many ms after noon; judged when the windows before `until` are over."""
    found = windows([(NOON + received, behind) for received, behind in readings])
    return clock_alerts("m1", found, NOON + until, LIMIT, ZONE)


def every_minute(behind: int | None, first: int = 0, last: int = 9) -> list[tuple[int, int | None]]:
    return [(minute * MINUTE, behind) for minute in range(first, last + 1)]


def test_a_clock_that_is_behind_all_the_time_is_wrong() -> None:
    (alert,) = alerts(*every_minute(15 * MINUTE))
    assert (alert.started, alert.ended) == (NOON, None)
    assert (alert.value, alert.threshold) == (900, 300)
    assert alert.text.startswith("The clock of m1 is wrong since 01.01. 12:00: it is 15 minutes behind")


def test_five_minutes_are_allowed() -> None:
    assert alerts(*every_minute(LIMIT)) == []
    assert len(alerts(*every_minute(LIMIT + 1))) == 1


def test_times_that_cannot_be_are_a_wrong_clock_of_which_nobody_knows_by_how_much() -> None:
    (alert,) = alerts(*every_minute(None), until=2 * WINDOW_MS)
    assert (alert.ended, alert.value) == (NOON + WINDOW_MS, None)
    assert "was wrong from 01.01. 12:00 to 01.01. 12:10: the time it told could not be" in alert.text
    (lasting,) = alerts(*every_minute(None))
    assert "is wrong since 01.01. 12:00: the time it tells cannot be" in lasting.text


def test_one_right_time_in_a_window_is_enough() -> None:
    assert alerts(*every_minute(None), (30 * SECOND, 200)) == []
    assert alerts(*every_minute(15 * MINUTE), (30 * SECOND, 200)) == []


def test_history_filled_in_at_once_is_no_wrong_clock() -> None:
    dump = [(i * 10, 86_400_000 - i * 5 * SECOND) for i in range(5000)]
    assert alerts(*dump) == []


def test_history_that_is_replayed_fast_is_no_wrong_clock() -> None:
    replayed = [(i * SECOND, 86_400_000 - i * 59 * SECOND) for i in range(590)]
    assert alerts(*replayed) == []


def test_a_single_reading_that_came_hours_late_is_no_wrong_clock() -> None:
    assert alerts((0, 3 * 3600 * SECOND)) == []


def test_neighbouring_windows_are_one_alert_with_the_largest_error() -> None:
    early, late = every_minute(10 * MINUTE), every_minute(20 * MINUTE, 10, 19)
    (alert,) = alerts(*early, *late, until=4 * WINDOW_MS)
    assert (alert.started, alert.ended, alert.value) == (NOON, NOON + 2 * WINDOW_MS, 1200)


@given(
    st.lists(st.tuples(st.integers(0, 30 * MINUTE), st.none() | st.integers(-1000, 20 * MINUTE)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_any_order_of_arrival_gives_the_same_windows(
    readings: list[tuple[int, int | None]],
    chance: Random,
) -> None:
    shuffled = list(readings)
    chance.shuffle(shuffled)
    by_start = {window.start: window for window in windows(shuffled)}
    assert by_start == {window.start: window for window in windows(readings)}
    for start, window in by_start.items():
        own = [behind for received, behind in readings if received - received % WINDOW_MS == start]
        assert window.impossible is (None in own)
