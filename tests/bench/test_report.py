"""What a benchmark says of itself must be true: what was reached, what was not."""

from xml.etree import ElementTree

import pytest

from strom.bench.report import Measure, Report, as_svg


@pytest.mark.parametrize(
    ("measure", "reached"),
    [
        (Measure("a", 0.60, "of b", "", at_least=0.6), True),
        (Measure("a", 0.59, "of b", "", at_least=0.6), False),
        (Measure("a", 1.30, "of b", "", at_most=1.3), True),
        (Measure("a", 1.31, "of b", "", at_most=1.3), False),
        (Measure("a", 9.99, "of b", ""), True),
    ],
)
def test_a_ratio_is_held_against_what_is_asked(measure: Measure, reached: bool) -> None:
    assert measure.reached is reached
    assert Report("t", "c", [measure]).reached is reached


def test_the_picture_shows_every_ratio_and_marks_those_that_fall_short() -> None:
    measures = [
        Measure("fast <one>", 0.75, "of a limit", "", at_least=0.6),
        Measure("slow", 0.25, "of a limit", "", at_least=0.6),
    ]
    picture = ElementTree.fromstring(as_svg(Report("title", "conditions", measures)))  # noqa: S314  our own
    texts = ["".join(node.itertext()) for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"fast <one>", "0.75", "slow", "0.25", "≥ 0.6"} <= set(texts)
    bars = [node.get("fill") for node in picture.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert bars[1] != bars[3]
