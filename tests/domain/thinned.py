"""Thins what a meter pushes, message by message, and tells the quarter-hours that come of it."""

from collections.abc import Iterable
from typing import NamedTuple

from strom.domain.load_profile import Sample, evaluate
from strom.domain.segments import Quality, Rules
from strom.domain.thinning import Kind, Meter, Thinning

RULES = Rules(limit_w=43_470, noise_mwh=10_000, exact_ms=60_000, linear_ms=7_200_000)
SECOND = 1000
START = 1_763_230_500 * SECOND  # a quarter-hour's start


class Push(NamedTuple):
    """One message: the kind of it, and what it says of one direction."""

    kind: Kind
    sample: Sample


def kind_of(sample: Sample, *more: str) -> Kind:
    said = {"import_wh": sample.counter, "import_w": sample.power}
    return Kind.of([*more, *(name for name, value in said.items() if value is not None)])


def kept_of(pushes: Iterable[Push], thinning: Thinning) -> list[Push]:
    """Those that go on; a message says its counter and its power."""
    meter = Meter()
    return [
        push
        for push in pushes
        if thinning.goes_on(meter, push.kind, push.sample.at, hash((push.sample.counter, push.sample.power)))
    ]


def thinned(samples: list[Sample], thinning: Thinning) -> list[Sample]:
    return [push.sample for push in kept_of([Push(kind_of(each), each) for each in samples], thinning)]


def quarter_hours(samples: list[Sample]) -> list[tuple[int, int | None, Quality]]:
    return [(row.start, row.mwh, row.quality) for row in evaluate(samples, RULES).rows]
