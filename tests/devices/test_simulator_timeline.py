"""History first, then live: when the meters' time happens, with a clock that the test turns."""

from itertools import islice, pairwise

import pytest

from strom.devices.simulator import Fleet
from strom.devices.simulator.timeline import Due, Timeline
from strom.errors import StromError

NOW = 1_794_758_400_000
DAY_MS = 86_400_000


def first(timeline: Timeline, count: int, fleet: Fleet | None = None) -> list[Due]:
    return list(islice(timeline.pushes(fleet or Fleet(30), lambda: NOW), count))


def test_live_pushes_are_due_at_their_own_time() -> None:
    for due in first(Timeline(), 100):
        assert due.at_ms == due.push.publish_ms >= NOW


def test_history_is_sent_at_once_and_followed_by_live_pushes_without_a_gap() -> None:
    timeline = Timeline(start_ms=NOW - 3_600_000, live_s=10)
    dues = list(timeline.pushes(Fleet(30), lambda: NOW))
    past = [due for due in dues if due.at_ms == 0]
    live = [due for due in dues if due.at_ms]
    assert all(due.push.publish_ms < NOW for due in past)
    assert all(NOW <= due.push.publish_ms < NOW + 10_000 for due in live)
    assert len(past) == 60 * sum(adapter.dialect.tells_time for adapter in Fleet(30).adapters)


def test_history_that_took_long_is_caught_up_before_live_begins() -> None:
    times = iter([NOW, NOW, NOW + 120_000, NOW + 121_000])
    timeline = Timeline(start_ms=NOW - 60_000, live_s=5)
    dues = list(timeline.pushes(Fleet(5), lambda: next(times)))
    assert min(due.push.publish_ms for due in dues if due.at_ms) >= NOW + 120_000
    assert max(due.push.publish_ms for due in dues if not due.at_ms) < NOW + 120_000


def test_counters_go_on_from_history_into_the_present() -> None:
    fleet = Fleet(1, seed=3)
    meter = fleet.adapters[0].meter
    dues = first(Timeline(start_ms=NOW - DAY_MS), 1500, fleet)
    assert any(due.at_ms for due in dues)
    energies = [meter.measure(due.push.publish_ms).import_wh for due in dues]
    assert all(one <= other for one, other in pairwise(energies))


def test_at_a_speed_the_past_runs_faster_than_the_clock_and_meets_it() -> None:
    timeline = Timeline(start_ms=NOW - 600_000, speed=61, live_s=20)
    dues = list(timeline.pushes(Fleet(30), lambda: NOW))
    replayed = [due for due in dues if due.at_ms != due.push.publish_ms]
    assert all(due.at_ms >= due.push.publish_ms for due in dues)  # never ahead of the clock
    assert max(due.push.publish_ms for due in replayed) < NOW + 10_000
    assert NOW + 15_000 < max(due.at_ms for due in dues) <= NOW + 20_000


def test_an_end_in_the_past_ends_the_history() -> None:
    timeline = Timeline(start_ms=NOW - DAY_MS, until_ms=NOW - DAY_MS + 60_000, history_interval_s=5)
    dues = list(timeline.pushes(Fleet(2), lambda: NOW))
    assert len(dues) == 24
    assert max(due.push.publish_ms for due in dues) < NOW - DAY_MS + 60_000


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"interval_s": 0.5}, "interval"),
        ({"history_interval_s": 7200}, "history interval"),
        ({"speed": 0}, "speed"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(wrong: dict[str, float], word: str) -> None:
    with pytest.raises(StromError, match=word):
        Timeline(**wrong)  # type: ignore[arg-type]


def test_a_start_in_the_future_is_refused() -> None:
    with pytest.raises(StromError, match="future"):
        first(Timeline(start_ms=NOW + 1), 1)
