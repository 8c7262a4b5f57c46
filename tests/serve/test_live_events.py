"""Server-sent events over a real connection."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from strom.serve.events import QUEUE_FRAMES, Client, Hub
from strom.serve.service import MOST_ALERT_EVENTS
from tests.serve.feeder import Feeder, reading
from tests.serve.running import Page

Unique = Callable[[str], str]
Event = tuple[str, str, dict[str, Any]]


@contextmanager
def events(page: Page, *meters: str) -> Iterator[Iterator[Event]]:
    """The events of one connection as (id, name, data)."""
    address = f"{page.address}/api/v1/live"
    with (
        httpx.Client(timeout=60) as client,
        client.stream("GET", address, params={"meter": meters}) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _parse(answer.iter_lines())


def _parse(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


def first(stream: Iterator[Event], name: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    return next(data for _, event, data in stream if event == name and wanted(data))


@pytest.mark.stack
def test_a_connection_begins_with_the_state_and_a_time_to_come_back(page: Page) -> None:
    with httpx.Client(timeout=60) as client, client.stream("GET", f"{page.address}/api/v1/live") as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("retry: ")
        begun = _parse(lines)
        assert [next(begun)[1], next(begun)[1]] == ["health", "fleet"]


@pytest.mark.stack
def test_a_reading_reaches_the_page_that_shows_its_meter(page: Page, feeder: Feeder, unique: Unique) -> None:
    name, other = unique("flat"), unique("flat")
    with events(page, name) as stream:
        next(stream)
        feeder.send(reading(other, net_w=1), reading(name, net_w=777))
        seen = next(data for _, event, data in stream if event == "reading")
    assert (seen["meter"], seen["net_w"]) == (name, 777)
    assert seen["published"] <= time.time() * 1000
    assert seen["points"][-1][1] == 777


@pytest.mark.stack
def test_a_star_hears_every_meter(page: Page, feeder: Feeder, unique: Unique) -> None:
    names = {unique("flat"), unique("flat")}
    with events(page, "*") as stream:
        next(stream)
        feeder.send(*(reading(name, net_w=5) for name in names))
        heard: set[str] = set()
        while not names <= heard:
            heard.add(first(stream, "reading", lambda _: True)["meter"])
    assert names <= heard


@pytest.mark.stack
def test_the_fleet_comes_every_second_with_the_end_of_its_curve(page: Page) -> None:
    with events(page) as stream:
        found = [
            data for _, data in zip(range(3), (each for each in stream if each[1] == "fleet"), strict=False)
        ]
    ids = [int(identity) for identity, _, _ in found]
    assert ids == sorted(set(ids))
    assert all(len(data["points"]) >= 15 for _, _, data in found)


@pytest.mark.stack
def test_an_alert_is_told_when_it_opens_and_when_it_ends(page: Page, feeder: Feeder, unique: Unique) -> None:
    identity, name = unique("alert"), unique("flat")
    with events(page) as stream:
        next(stream)
        feeder.alert(identity, name, "silent")
        opened = first(stream, "alert", lambda data: data["id"] == identity)
        assert opened["ended"] is None
        feeder.alert(identity, name, "silent", ended=opened["started"])
        ended = first(stream, "alert", lambda data: data["id"] == identity)
        assert ended["ended"] == opened["started"]


@pytest.mark.stack
def test_an_alert_that_is_withdrawn_is_told(page: Page, feeder: Feeder, unique: Unique) -> None:
    identity, name = unique("alert"), unique("flat")
    with events(page) as stream:
        next(stream)
        feeder.alert(identity, name, "spike", value=9000.0)
        opened = first(stream, "alert", lambda data: data["id"] == identity)
        feeder.withdraw(identity)
        gone = first(stream, "alert", lambda data: data["id"] == identity)
    assert gone == opened | {"ended": opened["started"], "withdrawn": True}


@pytest.mark.stack
def test_an_alert_that_ended_long_ago_by_its_own_time_is_told(
    page: Page, feeder: Feeder, unique: Unique
) -> None:
    identity, name = unique("alert"), unique("flat")
    started = datetime.now(UTC) - timedelta(days=3)
    with events(page) as stream:
        next(stream)
        feeder.alert(identity, name, "silent", started=started)
        first(stream, "alert", lambda data: data["id"] == identity)
        feeder.alert(identity, name, "silent", started=started, ended=started + timedelta(hours=1))
        ended = first(stream, "alert", lambda data: data["id"] == identity)
    assert ended["ended"] is not None
    assert "withdrawn" not in ended


@pytest.mark.stack
def test_when_very_many_alerts_change_one_event_tells_to_ask_anew(
    page: Page, feeder: Feeder, unique: Unique
) -> None:
    mark = unique("storm")
    with events(page) as stream:
        next(stream)
        feeder.many_alerts(mark, MOST_ALERT_EVENTS + 1)
        try:
            told = first(stream, "alerts", lambda _: True)
            assert told["open"] >= told["changed"] > MOST_ALERT_EVENTS
            fleet = first(stream, "fleet", lambda _: True)
            assert fleet["open_alerts"] >= told["changed"]
        finally:
            feeder.withdraw(mark)
        first(stream, "alerts", lambda _: True)


@pytest.mark.stack
def test_too_many_meters_are_refused_with_a_sentence(page: Page) -> None:
    answer = page.client.get(
        f"{page.address}/api/v1/live", params={"meter": [str(each) for each in range(300)]}
    )
    assert answer.status_code == 422
    assert "300 times" in answer.json()["error"]


def test_a_client_that_takes_nothing_is_dropped_and_the_others_go_on() -> None:
    hub, slow, quick = Hub(), Client(), Client()
    hub.join(slow)
    hub.join(quick)
    for number in range(QUEUE_FRAMES + 5):
        hub.send("fleet", {"n": number})
        assert quick.queue.get_nowait() is not None
    assert slow.dropped
    assert slow.queue.get_nowait() is None
    assert not quick.dropped


def test_closing_the_hub_ends_every_client_also_those_who_come_later() -> None:
    hub, early, late = Hub(), Client(), Client()
    hub.join(early)
    hub.close()
    hub.join(late)
    assert early.queue.get_nowait() is None
    assert late.queue.get_nowait() is None


def test_a_meter_is_wanted_while_a_client_looks_at_it() -> None:
    hub, one, two, every = Hub(), Client(["a"]), Client(["a", "b"]), Client(["*"])
    for client in (one, two):
        hub.join(client)
    hub.leave(one)
    hub.leave(one)
    assert (hub.wanted("a"), hub.wanted("b"), hub.wanted("c")) == (True, True, False)
    hub.leave(two)
    assert not hub.wanted("a")
    hub.join(every)
    assert hub.wanted("c")
