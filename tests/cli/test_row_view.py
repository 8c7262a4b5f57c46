"""Rows as people see them: a table that fits, JSON lines, CSV."""

import io
import json

import pytest
from rich.console import Console

from strom.cli.row_view import CsvView, JsonView, TableView, cell

ROWS = [
    json.dumps({"meter": "haus-1", "at": "2026-11-15T20:15:00.000Z", "import_w": 1250.500, "flags": ["a"]}),
    json.dumps({"meter": "haus-2", "at": "2026-11-15T20:15:01.250Z", "import_w": None, "flags": None}),
]
NAMES = ("meter", "at", "import_w", "flags")
NUMERIC = (False, False, True, False)


def table(width: int) -> tuple[TableView, io.StringIO]:
    out = io.StringIO()
    return TableView(NAMES, NUMERIC, Console(file=out, width=width)), out


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    view, out = table(80)
    assert view.show(ROWS) == 2
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "meter   at                        import_w  flags",
        'haus-1  2026-11-15 20:15:00Z        1250.5  ["a"]',
        "haus-2  2026-11-15 20:15:01.250Z",
    ]


def test_the_head_comes_again_only_when_a_column_grows() -> None:
    view, out = table(80)
    for row in (ROWS[1], ROWS[0].replace("1250.5", "9"), ROWS[1].replace("haus-2", "a longer name")):
        view.show([row])
    heads = [line.startswith("meter") for line in out.getvalue().splitlines()]
    assert heads == [True, False, True, False, True, False] or heads == [True, False, False, True, False]
    assert view.show([]) == 0


def test_a_narrow_terminal_is_not_exceeded() -> None:
    view, out = table(44)
    view.show(ROWS)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 44
    assert "…" in out.getvalue()


def test_too_many_columns_stand_below_each_other_without_the_empty_ones() -> None:
    view, out = table(30)
    view.show(ROWS)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "meter     haus-1",
        "at        2026-11-15 20:15:00Z",
        "import_w  1250.5",
        'flags     ["a"]',
        "",
        "meter     haus-2",
        "at        2026-11-15 20:15:01.250Z",
        "",
    ]


def test_json_is_passed_on_and_csv_has_a_head_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert JsonView().show(iter(ROWS)) == 2
    assert capsys.readouterr().out.splitlines() == ROWS
    view = CsvView(NAMES)
    assert (view.show(ROWS[:1]), view.show(ROWS[1:])) == (1, 1)
    assert capsys.readouterr().out.splitlines() == [
        "meter,at,import_w,flags",
        'haus-1,2026-11-15T20:15:00.000Z,1250.5,"[""a""]"',
        "haus-2,2026-11-15T20:15:01.250Z,,",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ({"start": "2026-11-15T20:15:00.000Z", "end": None}, "2026-11-15 20:15:00Z – "),
    ],
)
def test_a_value_is_shown_so_that_it_cannot_steer_the_terminal(value: object, shown: str) -> None:
    assert cell(value) == shown
