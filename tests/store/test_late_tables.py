"""Of the readings that came too late each is kept once, and of each meter no more than the newest."""

import pytest

from strom.store import late_tables
from strom.store.late_tables import LateRow, drop_late, late_counts, least_lag, save_late
from strom.store.schema import ensure_schema
from strom.store.writes import Writer

pytestmark = pytest.mark.stack
DAY = 86_400_000
NOW = 20_000 * DAY


@pytest.fixture
def url(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(late_tables, "MOST_OF_A_METER", 3)
    ensure_schema(database)
    return database


def late(meter: str, number: int, at: int = 0) -> LateRow:
    return meter, at or number * DAY, NOW + number, f"sma-kafka/0/{number}", '{"v": 1}'


def kept(writer: Writer) -> list[tuple[str, str]]:
    with writer.work() as work:
        found = work.rows("SELECT meter, origin FROM late_readings ORDER BY meter, at, received, origin")
    return [(meter, origin.rpartition("/")[2]) for meter, origin in found]


def test_of_each_meter_the_newest_stay_in_whatever_order_they_come(url: str) -> None:
    with Writer(url) as writer:
        for numbers in ((4, 1), (5, 2, 6), (3, 2, 1)):
            with writer.work() as work:
                save_late(work, [late("m1", number) for number in numbers])
                save_late(work, [late("m2", min(numbers))])
        assert kept(writer) == [
            *(("m1", "4"), ("m1", "5"), ("m1", "6")),
            *(("m2", "1"), ("m2", "2")),
        ]
    assert [(meter, count) for meter, count, *_ in late_counts(url)] == [("m1", 3), ("m2", 2)]


def test_of_a_clock_that_stands_those_stay_that_arrived_last(url: str) -> None:
    with Writer(url) as writer:
        for first in (1, 4):
            with writer.work() as work:
                save_late(work, [late("m1", number, at=DAY) for number in range(first, first + 3)])
        assert kept(writer) == [("m1", "4"), ("m1", "5"), ("m1", "6")]


def test_what_is_there_is_not_counted_again_and_what_is_taken_back_is_gone(url: str) -> None:
    rows = [late("m1", 1), late("m1", 2)]
    with Writer(url) as writer, writer.work() as work:
        assert [save_late(work, rows), save_late(work, rows)] == [2, 0]
        assert least_lag(work, NOW) == NOW - 2 * DAY + 2
        assert [drop_late(work, [row[:4] for row in rows[:1]]) for _ in range(2)] == [1, 0]
    with Writer(url) as writer:
        assert kept(writer) == [("m1", "2")]
