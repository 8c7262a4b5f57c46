"""The head of a query file says where its result goes; what is written wrong there is told."""

from pathlib import Path

import pytest

from strom.errors import StromError
from strom.pipeline.sql.query_files import parse_query, query_paths, read_query
from strom.settings import Settings
from strom.streams.start import EARLIEST, LATEST

QUERY = "SELECT * FROM readings"


def test_options_stand_in_the_comments_before_the_query() -> None:
    text = f"-- Note: prose\n--into: mine\n\n-- LATE:  2m \n-- mode: update\n-- from: earliest\n{QUERY}\n-- into: no\n"
    file = parse_query("a", text)
    assert file.options == {"into": "mine", "late": "2m", "mode": "update", "from": "earliest"}
    assert file.text == text
    live = file.live(Settings())
    assert (live.start, live.late_ms, live.late) == (EARLIEST, 120_000, "120000 milliseconds")


def test_without_options_the_settings_hold() -> None:
    live = parse_query("a", QUERY).live(Settings())
    assert (live.start, live.late_ms) == (LATEST, 600_000)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("-- topic: mine", "`-- topic:` is not an option of a query; `-- into:` is."),
        ("-- into: a\n-- into: b", "`-- into:` stands twice"),
        ("-- into:", "`-- into:` has no value"),
        (
            "-- mode: complete",
            "`-- mode: complete` is not possible for a topic; there are append and update.",
        ),
    ],
)
def test_a_wrong_head_is_told(head: str, sentence: str) -> None:
    with pytest.raises(StromError) as refused:
        parse_query("a", f"{head}\n{QUERY}")
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(("option", "why"), [("late: soon", "no duration"), ("from: 17", "not at an offset")])
def test_a_wrong_value_is_told_when_it_is_used(option: str, why: str) -> None:
    with pytest.raises(StromError, match=why):
        parse_query("a", f"-- {option}\n{QUERY}").live(Settings())


def test_only_files_that_end_in_sql_are_queries(tmp_path: Path) -> None:
    for name in ("b.sql", "a.sql", "a.sql~", "README.md"):
        (tmp_path / name).write_text(QUERY)
    (tmp_path / "c.sql").mkdir()
    assert [path.name for path in query_paths(tmp_path)] == ["a.sql", "b.sql"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(StromError, match="There is no file"):
        read_query(tmp_path / "none.sql")
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe4'")
    with pytest.raises(StromError, match="cannot be read"):
        read_query(tmp_path / "latin.sql")
