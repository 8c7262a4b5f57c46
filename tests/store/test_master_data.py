"""What people enter stays theirs: the pipeline's writes beside it change nothing of it."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from strom.domain.master_data import entry
from strom.settings import Settings
from strom.store.master_data import meters, save_entries
from strom.store.meter_tables import Seen, load_meters, save_meters
from strom.store.schema import ensure_schema
from strom.store.writes import Writer

pytestmark = pytest.mark.stack


def one(settings: Settings, meter: str) -> dict[str, Any]:
    [found] = meters(settings.postgres_url, meter=meter)
    return found


def test_a_meter_can_be_entered_before_it_is_heard_and_keeps_it_when_it_is(
    stack: Settings, writer: Writer, unique: Callable[[str], str]
) -> None:
    name = unique("haus")
    with writer.work() as work:
        assert save_entries(work, [entry(name, {"area": "Nord", "tariff": "Tag"})]) == [name]
        assert save_entries(work, [entry(name, {"tariff": "", "contract": "17"})]) == []
    found = one(stack, name)
    assert (found["area"], found["tariff"], found["contract"]) == ("Nord", None, "17")
    assert (found["first_seen"], found["last_seen"]) == (None, None)
    with writer.work() as work:
        assert load_meters(work, [name]) == {name: Seen(None, None, None, None)}
        save_meters(work, {name: Seen("7", 1_000, 5, 2_000)})
    found = one(stack, name)
    assert (found["area"], found["contract"], found["meter_number"]) == ("Nord", "17", "7")
    assert found["first_seen"].timestamp() == 2


def test_many_are_entered_at_once_and_found_by_area(
    stack: Settings, writer: Writer, unique: Callable[[str], str]
) -> None:
    area = unique("area")
    with writer.work() as work:
        assert save_entries(work, []) == []
        save_entries(work, [entry(f"{area}-{number}", {"area": area}) for number in range(30)])
    assert len(meters(stack.postgres_url, area=area)) == 30


def test_tables_of_an_earlier_version_are_brought_forward(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    name = unique("old").replace("-", "_")
    url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        ensure_schema(url)
        with psycopg.connect(url) as connection:
            connection.execute("ALTER TABLE meters ALTER COLUMN first_seen SET NOT NULL")
            connection.execute("COMMENT ON TABLE meters IS NULL")
        ensure_schema(url)
        with Writer(url) as writer, writer.work() as work:
            assert save_entries(work, [entry("a", {"area": "x"})]) == ["a"]
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
