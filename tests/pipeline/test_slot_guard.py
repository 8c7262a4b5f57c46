"""Whose tasks are ended when somebody else needs the slot."""

import pytest

from strom.pipeline.slot_guard import surplus


@pytest.mark.parametrize(
    ("held", "keep", "ended"),
    [
        ([], 1, []),
        ([[], []], 1, []),
        ([[7]], 1, []),
        ([[1, 2, 3, 4]], 1, [4, 3, 2]),
        ([[1, 2, 3], [4]], 3, [3]),  # a small question keeps its slot beside a large one
        ([[1, 2, 3], [4]], 1, [3, 2, 1]),  # and the last one is of the younger question
        ([[5, 6], [], [1, 2]], 2, [2, 6]),
        ([[1], [2]], 0, [1, 2]),
    ],
)
def test_the_largest_question_gives_first(held: list[list[int]], keep: int, ended: list[int]) -> None:
    assert surplus(held, keep) == ended
