"""Records and rows that nobody should have written: the page counts them, passes them over and goes on."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Producer

from strom.domain.values import NAME_LENGTH, NUL
from strom.serve.live import LiveState
from strom.serve.records import ForeignRecord, ForeignRecords, live_reading
from strom.serve.service import Service
from strom.settings import Settings
from strom.store.schema import connect
from strom.streams.topics import READINGS
from tests.hostile import VALUES, hostile, put, put_header_without_a_name
from tests.serve.feeder import Feeder, reading
from tests.serve.running import Page, at_port, free_port, serving
from tests.serve.test_tasks import running, seen
from tests.waiting import until

Unique = Callable[[str], str]
NAME = "foreign-meter"


def with_field(field: str, text: str) -> bytes:
    """A good reading, but for one field, whose value is this JSON."""
    whole = json.dumps(reading(NAME, net_w=1) | {field: "HERE"})
    return whole.replace('"HERE"', text).encode("utf-8", "surrogateescape")


FOREIGN: dict[str, bytes | None] = {
    "tombstone": None,
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"x"',
    "a number": b"7",
    "an empty object": b"{}",
    "no JSON": b"<xml/>",
    "a text after it": with_field("v", "1") + b"x",
    "a meter that is a number": with_field("meter", "5"),
    "a meter that is a list": with_field("meter", '["a"]'),
    "a meter that is null": with_field("meter", "null"),
    "a meter without a name": with_field("meter", '""'),
    "a meter with NUL": with_field("meter", '"a\\u0000b"'),
    "a meter of 201 characters": with_field("meter", f'"{"x" * 201}"'),
    "a meter of 10,000 characters": with_field("meter", f'"{"x" * 10_000}"'),
    "no meter": json.dumps({"at": "2026-11-15T20:15:00Z", "received": "2026-11-15T20:15:00Z"}).encode(),
    "a power beyond a double": with_field("import_w", "1e999"),
    "a power far too large": with_field("import_w", "1e300"),
    "a power of many digits": with_field("import_w", "9" * 400),
    "a power of 30 digits": with_field("import_w", "9" * 30),
    "a power that is NaN": with_field("import_w", "NaN"),
    "a power that is infinite": with_field("export_w", "-Infinity"),
    "a power that is a text": with_field("import_w", '"12"'),
    "a power that is true": with_field("import_w", "true"),
    "a power that is an object": with_field("import_w", "{}"),
    "another number beyond a double": with_field("voltage_l1_v", "1e999"),
    "at in the year 9999": with_field("at", '"9999-12-31T23:59:59Z"'),
    "received in the year 9999": with_field("received", '"9999-12-31T23:59:59Z"'),
    "at in the year 1": with_field("at", '"0001-01-01T00:00:00+23:59"'),
    "at without a zone": with_field("at", '"2026-11-15T20:15:00"'),
    "at before meters had clocks": with_field("at", '"1970-01-01T00:00:00Z"'),
    "at is -1": with_field("at", "-1"),
    "at is a number": with_field("at", "1795000000"),
    "at is null": with_field("at", "null"),
    "at is no time": with_field("at", '"soon"'),
    "half a surrogate in the name": with_field("meter", '"a\\ud800"'),
    "half a surrogate elsewhere": with_field("other", '{"x":"\\udfff"}'),
    "invalid UTF-8": with_field("meter", '"\udcff\udcfe"'),
    "100,000 brackets": b"[" * 100_000,
    "100,000 brackets in a field": with_field("other", "[" * 100_000 + "]" * 100_000),
    "500 brackets in a field": with_field("other", "[" * 500 + "]" * 500),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_each_kind_is_refused_with_a_reason(kind: str) -> None:
    value = FOREIGN[kind]
    if value is not None:
        with pytest.raises(ForeignRecord, match=r"\w"):
            live_reading(value, live_reading(with_field("v", "1")).received_ms)


def test_of_hostile_records_only_meters_that_the_pipeline_would_take_reach_the_live_state() -> None:
    now_ms = round(time.time() * 1000)
    live = LiveState(lambda meter: (3, 90))
    for each in hostile(READINGS):
        with suppress(ForeignRecord):
            live.take(live_reading(each.value or b"", now_ms))
    assert {"hostile", "x"} <= set(live.meters)
    assert [name for name in live.meters if not 1 <= len(name) <= NAME_LENGTH or NUL in name] == []


def test_the_longest_name_that_the_pipeline_takes_is_taken() -> None:
    name = "ä" * NAME_LENGTH
    assert live_reading(with_field("meter", f'"{name}"')).meter == name


def test_a_reading_is_read_without_changing_it() -> None:
    value = with_field("other", '{"96.1.0":"[[[[","0.9.1":7}')
    found = live_reading(value)
    assert (found.meter, found.power and found.power.net_w, found.body) == (NAME, 1, value)


def test_foreign_records_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    foreign = ForeignRecords(lambda: now[0])
    for second in range(130):
        now[0] = 100.0 + second
        foreign.add(f"readings/0/{second}", "it is not an object")
    assert foreign.count == 130
    lines = [record.getMessage() for record in caplog.records]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["1", "60", "60"]
    assert "readings/0/0" in lines[0]


@pytest.mark.stack
def test_good_readings_between_foreign_ones_arrive(page: Page, stack: Settings, unique: Unique) -> None:
    name = unique("flat")
    producer = Producer({"bootstrap.servers": stack.kafka_bootstrap})
    first = reading(name, net_w=100)
    counted = page.get("/api/v1/health").json()["foreign_records"]
    put_header_without_a_name(stack, READINGS)
    for number, value in enumerate(FOREIGN.values(), 1):
        at = live_reading(first).at_ms / 1000 - len(FOREIGN) + number
        good = reading(name, at, 100 + number)
        headers: dict[str, str | bytes | None] = {"strom-published": "\u0663" if number % 2 else "soon"}
        producer.produce(
            READINGS, value, name, headers=headers
        )  # the same key: the same partition, in this order
        producer.produce(READINGS, json.dumps(good).encode(), name)
        producer.flush(60)
    until(lambda: page.get(f"/api/v1/meters/{name}").json().get("net_w") == 100 + len(FOREIGN))
    points = page.get(f"/api/v1/meters/{name}/curve").json()["points"]
    assert [watts for _, watts in points] == [100 + number for number in range(1, len(FOREIGN) + 1)]
    health = page.get("/api/v1/health").json()
    assert (health["status"], {task["state"] for task in health["tasks"]}) == ("ok", {"running"})
    assert health["foreign_records"] >= counted + len(FOREIGN)
    metric = re.search(r"^strom_page_foreign_records_total (\d+)", page.get("/metrics").text, re.MULTILINE)
    assert metric
    assert float(metric[1]) >= counted + len(FOREIGN)
    assert page.get(f"/api/v1/meters/{NAME}").status_code == 404
    assert page.get("/api/v1/meters").status_code == 200
    assert page.get("/").status_code == 200


@pytest.mark.stack
def test_after_hostile_records_rows_and_alerts_are_still_read_from_postgres(
    stack: Settings, feeder: Feeder, unique: Unique, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "strom.serve.service._MASTER_ROUNDS", 1
    )  # each round asks with all meters known by then
    service, live, stored = Service(stack), unique("live"), unique("stored")

    async def scenario() -> None:
        await seen(lambda: service.health().status == "ok")
        await asyncio.to_thread(put, stack, READINGS, hostile(READINGS))
        await asyncio.to_thread(feeder.send, reading(live, net_w=42))
        await seen(lambda: live in service.state.meters)
        await asyncio.to_thread(store, stack, stored)
        await asyncio.to_thread(feeder.alert, stored, stored)
        await seen(lambda: stored in service.state.meters and len(service.alerts.open(stored)) == 1)
        health = service.health()
        assert (health.status, health.postgres.state) == ("ok", "connected")
        assert health.foreign_records > len(VALUES)

    try:
        running(service, scenario)
    finally:
        feeder.withdraw(stored)
        forget(stack, stored)


@pytest.mark.stack
def test_good_rows_between_foreign_ones_are_shown(stack: Settings, tmp_path: Path, unique: Unique) -> None:
    mark = unique("row")
    foreign = [
        value.decode().replace("\\ud800", "").replace("\\udfff", "")
        for kind, value in FOREIGN.items()
        if value is not None and not kind.startswith(("invalid", "100,000", "half a"))
    ]
    rows = [(f"{mark}-{number}", text) for number, text in enumerate(foreign)]
    with connect(stack.postgres_url) as connection:
        for name, text in [*rows, (f"{mark}-last", json.dumps(reading(f"{mark}-last", net_w=7)))]:
            # What Postgres refuses cannot be in its tables.
            with suppress(psycopg.DataError), connection.transaction():
                connection.execute(
                    "INSERT INTO readings_latest (meter, at, received, reading) VALUES (%s, now(), now(), %s::jsonb)",
                    (name, text),
                )
        counted = connection.execute(
            "SELECT count(*) FROM readings_latest WHERE meter LIKE %s", (f"{mark}%",)
        ).fetchone()
    assert counted
    assert counted[0] > 15
    try:
        with serving(at_port(stack, free_port(), tmp_path)) as page:
            until(lambda: page.get(f"/api/v1/meters/{mark}-last").is_success)
            health = until(
                lambda: found if (found := page.get("/api/v1/health").json())["status"] == "ok" else None
            )
            assert health["foreign_records"] >= counted[0] - 1
            assert page.get("/api/v1/meters", q=mark).json()["total"] == 1
    finally:
        forget(stack, mark)


def store(stack: Settings, meter: str) -> None:
    with connect(stack.postgres_url) as connection:
        connection.execute(
            "INSERT INTO readings_latest (meter, at, received, reading) VALUES (%s, now(), now(), %s::jsonb)",
            (meter, json.dumps(reading(meter, net_w=7))),
        )


def forget(stack: Settings, mark: str) -> None:
    with connect(stack.postgres_url) as connection:
        connection.execute("DELETE FROM readings_latest WHERE meter LIKE %s", (f"{mark}%",))
