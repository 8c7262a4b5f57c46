"""A day's files alone tell whether it wants upkeep."""

from datetime import date

from strom.pipeline.lake.files import MANY, LakeFile, by_day, is_clustered, wants_clustering, wants_joining

DAY = date(2026, 1, 1)
TARGET = 1000


def file(low: str = "a", high: str = "z", size: int = 1000, day: date = DAY) -> LakeFile:
    return LakeFile(day, size, 10, low, high)


def test_files_are_grouped_by_day_in_order() -> None:
    later = file(day=date(2026, 1, 2))
    assert by_day([later, file(), file("b")]) == {DAY: [file(), file("b")], later.day: [later]}


def test_many_small_files_want_joining_and_one_remainder_does_not() -> None:
    assert wants_clustering([file(size=10), file(size=10)], TARGET)
    assert not wants_clustering([file(size=10)], TARGET)
    assert not wants_clustering([file("a", "c"), file("c", "f"), file("f", "z", size=10)], TARGET)


def test_a_few_late_files_do_not_rewrite_a_large_day() -> None:
    large = [file(f"m{number:02}", f"m{number + 1:02}") for number in range(20)]
    assert not wants_clustering([*large, file("m03", "m03", size=10)], TARGET)
    assert wants_clustering([*large, *(file(size=10) for _ in range(10))], TARGET)


def test_a_day_is_sorted_when_no_meter_lies_in_more_than_two_files() -> None:
    assert is_clustered([])
    assert is_clustered([file("a", "c"), file("b", "d"), file("d", "e")])
    assert not is_clustered([file("a", "y"), file("a", "z"), file("b", "z")])
    assert wants_clustering([file("a", "y"), file("a", "z"), file("b", "z")], TARGET)


def test_the_day_in_progress_is_joined_when_it_is_worth_it() -> None:
    assert not wants_joining([file(size=10)] * (MANY - 1), TARGET)
    assert wants_joining([file(size=10)] * MANY, TARGET)
    assert not wants_joining([file()] * MANY, TARGET)
