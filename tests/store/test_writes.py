"""A piece of work is written whole or not at all, and every write can be repeated."""

from dataclasses import replace

import pytest

from strom.domain.acceptance import walk
from strom.domain.load_profile import Direction, Half, Row
from strom.domain.segments import Measure, Quality, Rules
from strom.domain.silences import silence
from strom.domain.tariffs import Tariff
from strom.errors import StromError
from strom.store import alert_tables, mark_tables, meter_tables, profile_tables, segment_tables
from strom.store.mark_tables import Mark
from strom.store.meter_tables import Latest, Seen
from strom.store.profile_tables import StoredRow
from strom.store.segment_tables import SeriesChange
from strom.store.writes import Writer

pytestmark = pytest.mark.stack
RULES = Rules(limit_w=43_470, noise_mwh=10_000, exact_ms=60_000, linear_ms=7_200_000)
SLOT = 900_000


def stored_row(meter: str, mwh: int = 1_500, version: int = 1) -> StoredRow:
    half = Half(mwh, Quality.MEASURED, 180, jump=True)
    return StoredRow(meter, Row(SLOT, half, Half(None, Quality.MISSING, 0)), 180, version)


def _save_and_fail(writer: Writer, meter: str) -> None:
    with writer.work() as work:
        profile_tables.save_rows(work, [stored_row(meter)])
        raise ZeroDivisionError


def test_an_error_leaves_nothing_behind(writer: Writer, meter: str) -> None:
    with pytest.raises(ZeroDivisionError):
        _save_and_fail(writer, meter)
    with writer.work() as work:
        assert profile_tables.load_rows(work, [(meter, 0, None)]) == {}


def test_a_connection_that_was_cut_is_a_sentence_and_the_next_work_succeeds(writer: Writer) -> None:
    with pytest.raises(StromError, match="Postgres stopped answering"), writer.work() as work:
        work.rows("SELECT pg_terminate_backend(pg_backend_pid())")
    with writer.work() as work:
        assert work.rows("SELECT 1") == [(1,)]


def test_rows_come_back_as_they_were_written_and_change_with_the_next_write(
    writer: Writer, meter: str
) -> None:
    for row in (stored_row(meter), stored_row(meter), stored_row(meter, 1_501, 2)):
        with writer.work() as work:
            profile_tables.save_rows(work, [row])
            assert profile_tables.load_rows(work, [(meter, 0, None)]) == {(meter, SLOT): row}
            assert profile_tables.load_rows(work, [(meter, SLOT + 1, None)]) == {}
    with writer.work() as work:
        profile_tables.delete_rows(work, [(meter, SLOT)])
        assert profile_tables.load_rows(work, [(meter, 0, None)]) == {}


def test_a_gap_without_either_direction_is_deleted(writer: Writer, meter: str) -> None:
    key = (meter, SLOT, 10 * SLOT)
    with writer.work() as work:
        for halves in ({Direction.IMPORT: 5}, {Direction.IMPORT: 5, Direction.EXPORT: 1_001}):
            profile_tables.save_gaps(work, {key: halves})
            assert profile_tables.load_gaps(work, [(meter, 0, None)]) == {key: halves}
        profile_tables.save_gaps(work, {key: {}})
        assert profile_tables.load_gaps(work, [(meter, 0, None)]) == {}


def test_a_series_goes_on_from_what_was_stored(writer: Writer, meter: str) -> None:
    points = [(0, 0), (SLOT, 100), (SLOT + 5_000, 90_000_000), (SLOT + 10_000, 90_000_001)]
    walked = walk(None, points, Measure.COUNTER, RULES)
    key = (meter, Direction.IMPORT)
    change = SeriesChange(key, Measure.COUNTER, SLOT + 10_000, walked.pending, walked.settled, None)
    with writer.work() as work:
        segment_tables.save_series(work, [change])
        segment_tables.save_series(work, [change])
        tail = segment_tables.load_tails(work, [meter])[key]
    assert (tail.segment, tail.pending, tail.seen) == (walked.settled[-1], walked.pending, SLOT + 10_000)


def test_the_series_of_a_tariff_stand_beside_those_of_the_meter(writer: Writer, meter: str) -> None:
    walked = walk(None, [(0, 0), (SLOT, 100)], Measure.COUNTER, RULES)
    own, other = (meter, Direction.EXPORT), (Tariff(meter, 2), Direction.EXPORT)
    changes = [SeriesChange(key, Measure.COUNTER, SLOT, (), walked.settled, None) for key in (own, other)]
    with writer.work() as work:
        segment_tables.save_series(work, changes)
        assert set(segment_tables.load_tails(work, [meter])) == {own, other}
        assert set(segment_tables.load_anchors(work, [(other, 99 * SLOT)])) == {other}
        segment_tables.save_series(work, [replace(changes[1], seen=2 * SLOT, replaced_after=0)])
        tails = segment_tables.load_tails(work, [meter])
    assert (tails[own].seen, tails[other].seen) == (SLOT, 2 * SLOT)


def test_an_anchor_lies_before_the_late_reading_and_later_segments_are_void(
    writer: Writer, meter: str
) -> None:
    walked = walk(None, [(n * SLOT // 3, n * 100) for n in range(20)], Measure.COUNTER, RULES)
    key = (meter, Direction.EXPORT)
    change = SeriesChange(key, Measure.COUNTER, 19 * SLOT // 3, (), walked.settled, None)
    with writer.work() as work:
        segment_tables.save_series(work, [change])
        assert segment_tables.load_anchors(work, [(key, 0)]) == {}
        anchor = segment_tables.load_anchors(work, [(key, 3 * SLOT + 1)])[key]
        assert anchor == walked.settled[2]
        segment_tables.save_series(work, [replace(change, settled=[anchor], replaced_after=anchor.slot)])
        assert segment_tables.load_tails(work, [meter])[key].segment == anchor
        assert segment_tables.load_anchors(work, [(key, 99 * SLOT)])[key] == anchor


def test_only_a_newer_reading_becomes_the_latest_and_master_data_stays(writer: Writer, meter: str) -> None:
    first = Latest(meter, 2_000, 2_100, 2_100, [1, None, 5, None], '{"at":2}', "123")
    with writer.work() as work:
        assert meter_tables.save_latest(work, [first]) == [meter]
        assert meter_tables.save_latest(work, [first]) == []
        assert meter_tables.save_latest(work, [replace(first, at=1_000)]) == []
        assert meter_tables.save_latest(work, [replace(first, at=3_000)]) == [meter]
        seen = Seen("123", 2_000, 5, 2_100)
        assert meter_tables.load_meters(work, [meter]) == {}
        meter_tables.save_meters(work, {meter: seen})
        work.execute("UPDATE meters SET area = 'Graz' WHERE meter = %s", meter)
        for each in (replace(seen, first_seen=900), Seen(None, None, None, 900)):
            meter_tables.save_meters(work, {meter: each})
            assert meter_tables.load_meters(work, [meter]) == {meter: each}
        assert work.rows("SELECT area FROM meters WHERE meter = %s", meter) == [("Graz",)]


def test_an_alert_is_closed_under_the_same_id(writer: Writer, meter: str) -> None:
    lasting = silence(meter, 1_000, 90_000, None, "Europe/Vienna")
    over = silence(meter, 1_000, 90_000, 500_000, "Europe/Vienna")
    scope = alert_tables.Scope(meter, "silent", "", 400_000)
    with writer.work() as work:
        alert_tables.save_alerts(work, [lasting])
        assert lasting in alert_tables.load_open(work, "silent", [meter])
        alert_tables.save_alerts(work, [over])
        assert alert_tables.load_alerts(work, [scope]) == [over]
        assert alert_tables.load_alerts(work, [replace(scope, since=600_000)]) == []
        alert_tables.delete_alerts(work, [over])
        assert alert_tables.load_alerts(work, [scope]) == []


def test_open_alerts_are_found_of_the_meters_asked_for_only(writer: Writer, meter: str) -> None:
    mine, other = (silence(name, 1_000, 90_000, None, "Europe/Vienna") for name in (meter, f"{meter}-2"))
    over = silence(meter, 500, 90_000, 700, "Europe/Vienna")
    with writer.work() as work:
        alert_tables.save_alerts(work, [mine, other, over])
        assert alert_tables.load_open(work, "silent", [meter]) == [mine]
        assert alert_tables.load_open(work, "voltage", [meter]) == []
        assert alert_tables.load_open(work, "silent", []) == []


def test_a_mark_of_a_topic_made_anew_begins_again_but_its_arrival_only_grows(
    writer: Writer, meter: str
) -> None:
    with writer.work() as work:
        mark_tables.save_marks(work, meter, [Mark("raw", 0, 1, 100, 5_000)])
        mark_tables.save_marks(work, meter, [Mark("raw", 0, 1, 3, 4_000)])
        assert mark_tables.load_marks(work, meter) == [Mark("raw", 0, 1, 3, 5_000)]
