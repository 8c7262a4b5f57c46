"""The headers of a raw record: where it came from, in which dialect, on which topic, and when."""

from strom.ingest.dialect_rules import DialectRules
from strom.ingest.headings import Headings, published
from strom.settings import Settings


def test_records_of_one_read_share_their_headers() -> None:
    headings = Headings(DialectRules(Settings()))
    headings.at(1_794_780_612_306)
    assert headings["sma/a"] is headings["sma/a"]
    assert dict(headings["sma/a"][0]) == {
        "strom-source": b"mqtt",
        "strom-dialect": b"adapter_json",
        "strom-topic": b"sma/a",
        "strom-received": b"1794780612306",
    }


def test_the_next_read_has_another_moment_and_leaves_the_former_headers_alone() -> None:
    headings = Headings(DialectRules(Settings()))
    headings.at(1)
    former, _ = headings["sma"]
    headings.at(2)
    assert dict(headings["sma"][0])["strom-received"] == b"2"
    assert dict(former)["strom-received"] == b"1"


def test_only_the_time_of_publishing_is_taken_from_what_a_sender_adds() -> None:
    assert published([("other", "x"), ("strom-published", "5")]) == [("strom-published", b"5")]
    assert published([("other", "x")]) == []
