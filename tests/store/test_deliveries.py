"""What an outlet was told is there once, goes out in order, and is forgotten when it cannot come back."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from strom.domain.notices import News, State, Status, Told, Wishes, news, read_alert
from strom.errors import StromError
from strom.settings import Settings
from strom.store.deliveries import Deliveries
from strom.store.outlet_states import OutletState, outlet_states, send_again
from strom.store.schema import connect
from tests.notify.receivers import until

pytestmark = pytest.mark.stack
QUIET = Wishes(quiet_ms=600_000, oldest_ms=2**60)


@pytest.fixture
def deliveries(stack: Settings) -> Iterator[Deliveries]:
    with Deliveries(stack.postgres_url) as opened:
        opened.prepare()
        yield opened


@pytest.fixture
def outlet(unique: Callable[[str], str]) -> str:
    return unique("outlet")


def told(name: str, minute: int, ended: int | None = None, meter: str = "m1") -> Told:
    record = {
        "id": name,
        "meter": meter,
        "kind": "silent",
        "severe": False,
        "text": "\0 \ud83d",
        "threshold": 1,
    }
    record["started"] = f"2026-11-15T11:{minute:02}:00Z"
    alert = read_alert(record)
    return alert if ended is None else replace(alert, ended=alert.started + (ended - minute) * 60_000)


def hear(deliveries: Deliveries, outlet: str, alert: Told) -> News | None:
    with deliveries.noting() as noting:
        found = news(
            alert, noting.heard(outlet, alert), noting.end_before(outlet, alert), QUIET, alert.moment
        )
        if found is not None:
            noting.keep(outlet, alert, found, QUIET.quiet_ms)
    return found


def let_time_pass(settings: Settings, outlet: str, days: int = 1) -> None:
    with connect(settings.postgres_url) as connection:
        connection.execute(
            "UPDATE alert_deliveries SET due = due - %(d)s * interval '1 day', noted = noted - %(d)s * interval '1 day', "
            "done = done - %(d)s * interval '1 day' WHERE outlet = %(outlet)s",
            {"d": days, "outlet": outlet},
        )


def waiting(deliveries: Deliveries, outlet: str, *without: str) -> list[str]:
    return [f"{each.alert}.{each.state}" for each in deliveries.waiting(outlet, without, 100)]


def test_the_same_news_again_are_the_same_row_and_the_body_comes_back_as_it_was(
    deliveries: Deliveries, outlet: str
) -> None:
    alert = told("a", 0)
    assert hear(deliveries, outlet, alert) == News(State.OPENED)
    with deliveries.noting() as noting:
        noting.keep(outlet, alert, News(State.OPENED), 0)
    (delivery,) = deliveries.waiting(outlet, [], 100)
    assert delivery.body == alert.record
    deliveries.delivered(outlet, delivery)
    assert hear(deliveries, outlet, alert) is None
    assert waiting(deliveries, outlet) == []


def test_what_waits_comes_in_order_and_without_the_meters_that_are_held_up(
    deliveries: Deliveries, outlet: str
) -> None:
    for alert in (told("a", 0), told("b", 1, meter="m2"), told("c", 2), told("d", 3, ended=3, meter="m2")):
        hear(deliveries, outlet, alert)
    assert waiting(deliveries, outlet) == ["a.opened", "b.opened", "c.opened", "d.ended"]
    assert waiting(deliveries, outlet, "m1") == ["b.opened", "d.ended"]
    assert deliveries.waiting(f"{outlet}-other", [], 100) == []


def test_an_end_is_held_back_and_goes_unsaid_when_the_alert_comes_back(
    stack: Settings, deliveries: Deliveries, outlet: str
) -> None:
    hear(deliveries, outlet, told("a", 0))
    hear(deliveries, outlet, told("a", 0, ended=5))
    assert waiting(deliveries, outlet) == ["a.opened"]
    assert (deliveries.next_due(outlet) or 0) <= 0
    assert hear(deliveries, outlet, told("b", 7)) == News(
        State.OPENED, Status.QUIET, root="a.opened", silenced=("a.ended",)
    )
    hear(deliveries, outlet, told("b", 7, ended=9))
    let_time_pass(stack, outlet)
    assert waiting(deliveries, outlet) == ["a.opened", "b.ended"]
    # The end is due, so it may be on its way: who comes back now is told.
    assert hear(deliveries, outlet, told("c", 10)) == News(State.OPENED)


def test_what_was_done_long_ago_is_forgotten_and_what_waited_too_long_is_given_up(
    stack: Settings, deliveries: Deliveries, outlet: str
) -> None:
    hear(deliveries, outlet, told("a", 0))
    hear(deliveries, outlet, told("b", 1))
    deliveries.delivered(outlet, deliveries.waiting(outlet, [], 1)[0])
    let_time_pass(stack, outlet, days=29)
    assert deliveries.forget(outlet, 30) == (0, 0)
    let_time_pass(stack, outlet, days=2)
    assert deliveries.forget(outlet, 30) == (1, 1)
    (state,) = outlet_states(stack.postgres_url, [outlet])
    assert (state.delivered, state.waiting, state.given_up) == (1, 0, 1)
    assert send_again(stack.postgres_url, outlet) == 1
    assert waiting(deliveries, outlet) == ["b.opened"]


def test_an_outlet_that_never_sent_anything_is_all_zero(stack: Settings, outlet: str) -> None:
    assert outlet_states(stack.postgres_url, [outlet]) == [OutletState(outlet)]


def test_one_connection_at_a_time_sends_for_an_outlet(
    stack: Settings, deliveries: Deliveries, outlet: str
) -> None:
    with Deliveries(stack.postgres_url) as second:
        assert [deliveries.holds(outlet), second.holds(outlet), deliveries.holds(outlet)] == [
            True,
            False,
            True,
        ]
        assert second.holds(f"{outlet}-other")
        deliveries.close()
        until(lambda: second.holds(outlet), "the server has noticed that the first is gone")


def test_a_connection_that_was_cut_is_a_sentence_and_has_lost_its_outlet(
    stack: Settings, deliveries: Deliveries, outlet: str
) -> None:
    assert deliveries.holds(outlet)
    with connect(stack.postgres_url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid::int8 = "
            "(hashtext(%s)::int8 & 4294967295) AND pid <> pg_backend_pid()",
            (outlet,),
        )
    with pytest.raises(StromError, match="Postgres did not take it"):
        deliveries.waiting(outlet, [], 1)
    assert deliveries.waiting(outlet, [], 1) == []
    assert deliveries.holds(outlet)
