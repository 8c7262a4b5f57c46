"""What a meter asks of the lake is what its late readings can change, and nothing at all where nothing is new."""

from collections.abc import Mapping

import orjson

from strom.domain.load_profile import Direction
from strom.domain.segments import Border, Measure, Rules, Segment
from strom.domain.slots import slot_of
from strom.pipeline.process.folded import Folded
from strom.pipeline.process.settlement import _Meter
from strom.store.position_tables import Settled
from strom.store.segment_tables import Key, Tail

DAY = 86_400_000
NOW = 400 * DAY + 3_600_000
RULES = Rules(100_000, 1_000, 60_000, 3_600_000)
IMPORT, EXPORT = ("m1", Direction.IMPORT), ("m1", Direction.EXPORT)


def cell(t: int, counter: int, digest: int = 7) -> str:
    """The lines of five minutes with one reading of import, as Spark folds them."""
    imported = [1, t, t, counter, counter, True, True, None]
    exported = [0, None, None, None, None, None, False, None]
    bands = ["{}", "{}", "{}", "{}"]
    volts = [None, 0, None, 0, None, 0]
    line = ["cell", 0, t - t % 300_000, t, t, False, False, *imported, *exported, *bands, *volts, digest]
    return orjson.dumps([line]).decode()


def ended(at: int) -> Segment:
    return Segment(slot_of(at), at, at, 5, 0, 0, 1, Border.EXACT, 0, slot_of(at), 0)


def placed(lines: str, series: Mapping[Key, int]) -> _Meter:
    """A meter that is settled up to now, with series that end at these times."""
    meter = _Meter(Folded("m1", lines), None, RULES, to_end=False)
    meter.place(Settled(NOW))
    meter.tails = {key: Tail(Measure.COUNTER, end, (), ended(end)) for key, end in series.items()}
    return meter


def test_a_series_that_ended_long_ago_does_not_have_everything_since_read() -> None:
    meter = placed(cell(NOW - 30_000, 7), {IMPORT: NOW, EXPORT: NOW - 300 * DAY})
    anchor = NOW - 900_000
    meter.divide({})
    meter.go_back({IMPORT: ended(anchor)})
    meter.absorb()
    need = meter.lacks()
    assert need is not None
    assert need.after("import") == anchor
    assert NOW - need.read_from < DAY


def test_only_the_newest_moment_with_the_same_values_is_nothing_new() -> None:
    for t, digest, known, unchanged in (
        (NOW, 7, 7, True),
        (NOW, 7, 8, False),
        (NOW, 7, None, False),
        (NOW - 1, 7, 7, False),
    ):
        meter = _Meter(Folded("m1", cell(t, 5, digest)), None, RULES, to_end=False)
        meter.place(Settled(NOW, known))
        assert meter.is_unchanged is unchanged
        assert (meter.first_late is None) is unchanged


def test_a_replay_makes_the_newest_moment_anew_too() -> None:
    meter = _Meter(Folded("m1", cell(NOW, 5)), None, RULES, to_end=True)
    meter.place(Settled(NOW, 7))
    assert meter.late == NOW
