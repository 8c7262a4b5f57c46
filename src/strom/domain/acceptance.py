"""Which counter readings the quarter-hours trust; knows a reading only as a time and a value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from strom.domain.chain import Chain
from strom.domain.segments import Measure, Rules, Segment, Stretch

Point = tuple[int, int]  # time in ms, counter in mWh (or power in mW)

ONE_WH = 1_000  # the rules allow a step one Wh more than the connection carries, for counters that round
MS_PER_HOUR_OVER_1000 = 3_600  # W · ms / 3600 = mWh


class Verdict(Enum):
    NORMAL = "normal"
    NOISE = "noise"
    SUSPECT = "suspect"


@dataclass(frozen=True, slots=True)
class Walked:
    """`settled` can be stored and gone on from; `pending` readings wait for those that decide about them."""

    chain: Chain
    settled: tuple[Segment, ...]
    pending: tuple[Point, ...]


def series(readings: Iterable[Point]) -> list[Point]:
    """Ordered by time; of several at the same time the largest value."""
    largest: dict[int, int] = {}
    for t, value in readings:
        largest[t] = max(value, largest.get(t, value))
    return sorted(largest.items())


def is_normal(before: Point, after: Point, rules: Rules) -> bool:
    """The counter grew by no more than the connection can carry."""
    grown = after[1] - before[1]
    return grown >= 0 and (grown - ONE_WH) * MS_PER_HOUR_OVER_1000 <= rules.limit_w * (after[0] - before[0])


def most_mwh(before: Point, after: Point, rules: Rules) -> int:
    """The most that a counter may grow from one reading to the other."""
    return rules.limit_w * (after[0] - before[0]) // MS_PER_HOUR_OVER_1000 + ONE_WH


def walk(carried: Segment | None, points: Sequence[Point], measure: Measure, rules: Rules) -> Walked:
    """Go on from a settled segment over the readings after it, which are in order and one per moment."""
    chain = Chain.after(carried, measure, rules)
    if measure is Measure.POWER:
        for t, value in points:
            chain.accept(Stretch.single(t, value))
        return Walked(chain, tuple(chain.segments), ())
    return _walk_counter(chain, points)


def _walk_counter(chain: Chain, points: Sequence[Point]) -> Walked:
    settled: tuple[Segment, ...] | None = None
    pending: tuple[Point, ...] = ()
    for index, point in enumerate(points):
        last = chain.last
        before = (last.last_t, last.last_v) if last else point
        verdict = _verdict(before, point, chain.rules)
        if verdict is Verdict.SUSPECT:
            if settled is None and index + 2 >= len(points):
                settled, pending = tuple(chain.segments), tuple(points[index:])
            _take_suspect(chain, before, points[index : index + 3])
        else:
            chain.accept(Stretch.single(point[0], max(before[1], point[1])))
    return Walked(chain, tuple(chain.segments) if settled is None else settled, pending)


def _verdict(before: Point, point: Point, rules: Rules) -> Verdict:
    if is_normal(before, point, rules):
        return Verdict.NORMAL
    if 0 < before[1] - point[1] <= rules.noise_mwh:
        return Verdict.NOISE
    return Verdict.SUSPECT


def _take_suspect(chain: Chain, before: Point, ahead: Sequence[Point]) -> None:
    """A level that the next two readings confirm is a reset or a meter swap, any other a faulty reading."""
    t, value = ahead[0]
    if value < before[1]:
        chain.fall(t, before[1] - value)
    else:
        chain.leap(t, value - before[1], most_mwh(before, ahead[0], chain.rules))
    confirmed = len(ahead) == 3 and all(is_normal(ahead[i], ahead[i + 1], chain.rules) for i in (0, 1))
    if confirmed:
        chain.accept(Stretch.single(t, value), reset=True)
    else:
        chain.drop(t)
