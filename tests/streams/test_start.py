"""Where reading begins, as people write it."""

import pytest

from strom.errors import StromError
from strom.streams.start import EARLIEST, LATEST, Kind, Start, parse_start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("0", Start(Kind.OFFSET, 0)),
        ("-5", Start(Kind.OFFSET, -5)),
        ("2026-11-15T20:15:00Z", Start(Kind.TIME, 1_794_773_700_000)),
        ("2026-11-15T21:15", Start(Kind.TIME, 1_794_773_700_000)),
        ("2026-07-01", Start(Kind.TIME, 1_782_856_800_000)),
    ],
)
def test_a_start_is_a_word_an_offset_or_a_local_time(text: str, expected: Start) -> None:
    assert parse_start(text, "Europe/Vienna") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "1.5", "--3", "٣", "2026-13-01", "20:15"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(StromError, match="write a time as"):
        parse_start(text)
