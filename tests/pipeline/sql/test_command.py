"""`strom sql` as people type it: the result on standard output, everything else beside it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from strom.settings import Settings
from tests.pipeline.sql.asking import at_minute, send
from tests.streams.writing import strom

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("DROP TABLE readings",),
            "strom: Only queries can be run here, not DROP; begin with SELECT, WITH, VALUES or FROM.\n",
        ),
        (
            ("SELECT 1", "--into", "a"),
            "strom: --into, --name, --from, --late, --mode and --for belong to --live; add it.\n",
        ),
        (("SELECT 1", "--json", "--csv"), "strom: Give --json or --csv, not both.\n"),
        (("--file", "none.sql"), "strom: There is no file none.sql.\n"),
        (
            ("--live", "SELECT 1", "--into", "alerts"),
            "strom: alerts is written by Strom itself; choose another topic",
        ),
        (("--live", "SELECT 1", "--late", "soon"), "strom: 'soon' is no duration; write it as 90s"),
        (
            ("--live", "SELECT 1", "--from", "-5"),
            "strom: A live query begins at earliest, latest or a time, not at an offset.\n",
        ),
    ],
)
def test_what_is_wrong_is_told_without_waiting_for_spark(
    stack: Settings, arguments: tuple[str, ...], sentence: str
) -> None:
    done = strom(stack, "sql", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)


def test_the_rows_alone_are_on_standard_output(
    stack: Settings, unique: Callable[[str], str], tmp_path: Path
) -> None:
    meter, file = unique("haus"), tmp_path / "q.sql"
    send(stack, [at_minute(meter, minute, minute, import_w=minute) for minute in range(3)])
    file.write_text(f"-- mine\nSELECT at, import_w FROM readings WHERE meter = '{meter}' ORDER BY at")
    done = strom(stack, "sql", "--file", str(file), "--json", "--limit", "2")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"at": "2026-01-01T00:00:00.000Z", "import_w": 0},
        {"at": "2026-01-01T00:01:00.000Z", "import_w": 1},
    ]
    assert done.stderr.splitlines()[-1] == "▸ 2 rows, and there are more (--limit)"
    assert "WARN" not in done.stderr


def test_live_rows_come_until_there_are_enough_and_a_wrong_query_has_exit_code_2(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    meter = unique("haus")
    send(stack, [at_minute(meter, 0, number, import_w=number) for number in range(3)])
    query = f"SELECT meter, import_w FROM readings WHERE meter = '{meter}'"  # noqa: S608
    done = strom(stack, "sql", "--live", query, "--from", "earliest", "--limit", "2", "--csv")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    done = strom(stack, "sql", "--live", "SELECT wat FROM readings")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`wat` cannot be resolved" in done.stderr.splitlines()[-1]
