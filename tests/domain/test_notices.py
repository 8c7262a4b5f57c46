"""What an outlet hears of an alert: every state once, nothing it does not want, and no flapping."""

from typing import Any

import pytest

from strom.domain.notices import (
    Heard,
    News,
    NotAnAlertError,
    State,
    Status,
    Told,
    Wishes,
    key_of,
    news,
    read_alert,
)
from strom.domain.reading import epoch_ms, time_text

MINUTE = 60_000
T0 = epoch_ms("2026-11-15T11:00:00Z")


def alert(id: str = "a", start: int = T0, end: int | None = None, **more: Any) -> Told:  # noqa: A002
    record: dict[str, Any] = {
        "v": 1,
        "id": id,
        "meter": "haus-1",
        "kind": "silent",
        "severe": False,
        "threshold": 90,
    }
    record |= {"started": time_text(start), "text": "haus-1 sends nothing."} | more
    return read_alert(record if end is None else record | {"ended": time_text(end)})


class Ear:
    """An outlet that keeps what it is told, as the table does."""

    def __init__(self, **wishes: Any) -> None:
        self.wishes = Wishes(**wishes)
        self.rows: dict[str, Heard] = {}

    def hear(self, told: Told, now: int | None = None) -> News | None:
        own = {row.state: row for row in self.rows.values() if row.alert == told.id}
        ends = [
            row
            for row in self.rows.values()
            if row.alert != told.id and row.ended is not None and row.ended <= told.started
        ]
        before = max(ends, key=lambda row: row.ended or 0, default=None)
        found = news(told, own, before, self.wishes, told.moment if now is None else now)
        if found is not None:
            for key in found.silenced:
                self._set(key, Status.QUIET)
            row = Heard(told.id, found.state, found.status, told.severe, told.ended, found.root)
            self.rows[row.key] = row
        return found

    def send_all(self) -> list[str]:
        """Deliver what waits, also what was held."""
        waiting = [key for key, row in self.rows.items() if row.status is Status.WAITING]
        for key in waiting:
            self._set(key, Status.DELIVERED)
        return waiting

    def _set(self, key: str, status: Status) -> None:
        old = self.rows[key]
        self.rows[key] = Heard(old.alert, old.state, status, old.severe, old.ended, old.root)


def test_opening_worsening_and_end_are_told_once_each_however_often_they_come() -> None:
    ear = Ear()
    story = [alert(), alert(value=3), alert(severe=True), alert(severe=True, value=4), alert(end=T0 + MINUTE)]
    told = [ear.hear(each) for each in (*story, *story)]
    assert [each.state for each in told if each] == [State.OPENED, State.SEVERE, State.ENDED]
    assert [each.root for each in told if each] == [None, "a.opened", "a.opened"]


def test_an_alert_that_is_severe_from_the_start_does_not_become_so() -> None:
    ear = Ear()
    ear.hear(alert(severe=True))
    assert ear.hear(alert(severe=True, value=9)) is None


def test_an_alert_that_is_over_when_it_is_first_heard_of_is_one_notice() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    assert ear.hear(alert(end=T0)) == News(State.ENDED)
    assert ear.hear(alert(end=T0 + 1)) is None


def test_what_is_withdrawn_is_told_to_whoever_heard_of_it_and_to_nobody_else() -> None:
    ear = Ear()
    withdrawn = alert(end=T0, withdrawn=True)
    assert ear.hear(withdrawn) is None
    ear.hear(alert())
    assert ear.hear(withdrawn) == News(State.WITHDRAWN, root="a.opened")
    assert ear.hear(withdrawn) is None
    assert ear.hear(alert(end=T0 + MINUTE)) is None


@pytest.mark.parametrize(
    ("wishes", "wanted"),
    [
        ({}, True),
        ({"kinds": ("voltage", "sil*")}, True),
        ({"kinds": ("voltage",)}, False),
        ({"meters": ("haus-?",)}, True),
        ({"meters": ("keller", "Haus-*")}, False),
        ({"severe_only": True}, False),
    ],
)
def test_an_outlet_hears_only_what_it_wants(wishes: dict[str, Any], wanted: bool) -> None:
    assert (Ear(**wishes).hear(alert()) is not None) is wanted


def test_an_outlet_for_severe_ones_hears_of_an_alert_when_it_becomes_severe_and_of_its_end() -> None:
    ear = Ear(severe_only=True)
    assert ear.hear(alert()) is None
    assert ear.hear(alert(severe=True)) == News(State.OPENED)
    assert ear.hear(alert(end=T0 + MINUTE)) == News(State.ENDED, root="a.opened")


def test_old_news_of_an_unknown_alert_is_no_news_but_its_end_is() -> None:
    ear = Ear(oldest_ms=60 * MINUTE)
    late = T0 + 61 * MINUTE
    assert ear.hear(alert(), now=late) is None
    assert ear.hear(alert(end=late - MINUTE), now=late) == News(State.ENDED)
    known = Ear(oldest_ms=60 * MINUTE)
    known.hear(alert())
    assert known.hear(alert(severe=True), now=late) == News(State.SEVERE, root="a.opened")


def test_what_flaps_within_the_quiet_period_is_told_once_from_its_opening_to_its_last_end() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    ear.hear(alert("a", T0))
    assert ear.send_all() == ["a.opened"]
    end = T0
    for name in ("a", "b", "c"):
        start, end = end, end + MINUTE
        if name != "a":
            assert ear.hear(alert(name, start)) is not None
        ear.hear(alert(name, start, end))
        end += 5 * MINUTE
    assert ear.send_all() == ["c.ended"]
    assert ear.rows["c.ended"].root == "a.opened"
    assert ear.hear(alert("d", T0 + 60 * MINUTE)) == News(State.OPENED)


def test_an_alert_that_comes_back_after_its_end_was_told_is_news() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    ear.hear(alert("a"))
    ear.hear(alert("a", end=T0 + MINUTE))
    ear.send_all()
    assert ear.hear(alert("b", T0 + 2 * MINUTE)) == News(State.OPENED)


def test_events_that_are_over_at_once_are_told_once_while_they_follow_each_other() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    for number, name in enumerate("abc"):
        at = T0 + number * 8 * MINUTE
        ear.hear(alert(name, at, at))
        ear.send_all()
    assert {key: row.status for key, row in ear.rows.items()} == {
        "a.ended": Status.DELIVERED,
        "b.ended": Status.QUIET,
        "c.ended": Status.QUIET,
    }
    assert ear.hear(alert("b", T0 + 8 * MINUTE, T0 + 8 * MINUTE, withdrawn=True)) is None


def test_a_withdrawal_in_the_quiet_period_takes_the_place_of_the_end() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    ear.hear(alert())
    ear.hear(alert(end=T0 + MINUTE))
    ear.hear(alert(end=T0, withdrawn=True))
    assert ear.send_all() == ["a.opened", "a.withdrawn"]


def test_what_came_back_and_was_never_there_closes_the_story_that_was_told() -> None:
    ear = Ear(quiet_ms=10 * MINUTE)
    ear.hear(alert("a"))
    ear.send_all()
    ear.hear(alert("a", end=T0 + MINUTE))
    ear.hear(alert("b", T0 + 2 * MINUTE))
    ear.hear(alert("b", T0 + 2 * MINUTE, T0 + 2 * MINUTE, withdrawn=True))
    assert ear.send_all() == ["b.withdrawn"]
    assert ear.rows["b.withdrawn"].root == key_of("a", State.OPENED)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"id": ""},
        {"id": None},
        {"meter": "a\0b"},
        {"kind": "k" * 501},
        {"started": "noon"},
        {"started": 5},
        {"ended": "later"},
        {"part": 7},
    ],
)
def test_what_is_not_an_alert_is_told_apart(spoilt: dict[str, Any]) -> None:
    with pytest.raises(NotAnAlertError):
        read_alert(dict(alert().record) | spoilt)


@pytest.mark.parametrize("record", [None, [], "alert", {}, {"id": "a"}])
def test_something_else_altogether_is_told_apart_too(record: Any) -> None:
    with pytest.raises(NotAnAlertError):
        read_alert(record)
