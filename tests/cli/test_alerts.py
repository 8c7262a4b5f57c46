"""`strom alerts list` as people type it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from strom.settings import Settings
from strom.store.schema import connect
from tests.conftest import settings_in
from tests.streams.writing import strom

pytestmark = pytest.mark.stack

NOON = datetime(2026, 11, 15, 11, tzinfo=UTC)


@pytest.fixture
def meter(stack: Settings, unique: Callable[[str], str]) -> str:
    name = unique("haus")
    rows = [
        ("open", "silent", False, None, f"{name} sends nothing.\x1b[31m"),
        ("over", "voltage", True, NOON.replace(hour=12), f"{name} had 190 V."),
    ]
    with connect(stack.postgres_url) as connection:
        for key, kind, severe, ended, text in rows:
            connection.execute(
                "INSERT INTO alerts (id, meter, kind, severe, started, ended, value, threshold, text) "
                "VALUES (%s, %s, %s, %s, %s, %s, 1.5, 2, %s)",
                (f"{name}-{key}", name, kind, severe, NOON, ended, text),
            )
    return name


def test_open_ones_are_listed_with_their_sentence_and_cannot_steer_the_terminal(
    stack: Settings, meter: str
) -> None:
    done = strom(stack, "alerts", "list", "--meter", meter)
    assert done.stdout.splitlines() == [
        f"2026-11-15 12:00  open              silent            {meter} sends nothing.\\x1b[31m",
        "1 open alerts",
    ]


def test_all_of_a_kind_as_json(stack: Settings, meter: str) -> None:
    done = strom(stack, "alerts", "list", "--all", "--meter", meter, "--kind", "voltage", "--json")
    assert json.loads(done.stdout) == {
        "id": f"{meter}-over",
        "meter": meter,
        "kind": "voltage",
        "part": "",
        "severe": True,
        "started": "2026-11-15T11:00:00Z",
        "ended": "2026-11-15T12:00:00Z",
        "value": 1.5,
        "threshold": 2.0,
        "text": f"{meter} had 190 V.",
    }


def test_more_than_the_limit_is_told(stack: Settings, meter: str) -> None:
    done = strom(stack, "alerts", "list", "--all", "--meter", meter, "--limit", "1")
    assert done.stdout.splitlines()[-1] == "2 alerts, 1 shown"


def test_a_postgres_that_is_away_is_one_sentence(tmp_path: Path) -> None:
    done = strom(settings_in(tmp_path), "alerts", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr
