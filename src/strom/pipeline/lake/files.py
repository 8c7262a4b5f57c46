"""Which days of the lake want their files put in order: told by the files alone, so that asking again changes nothing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

MANY = 16  # small files of the day in progress that are worth joining


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One file of a day, with the first and the last meter in it."""

    day: date
    size: int
    rows: int
    low: str
    high: str


def by_day(files: Iterable[LakeFile]) -> dict[date, list[LakeFile]]:
    found: defaultdict[date, list[LakeFile]] = defaultdict(list)
    for each in files:
        found[each.day].append(each)
    return dict(sorted(found.items()))


def wants_clustering(files: Sequence[LakeFile], target: int) -> bool:
    """A past day: many small files, or files that one meter is spread over."""
    small = sum(each.size < target // 2 for each in files)
    return small >= max(2, (len(files) - small) // 2) or not is_clustered(files)


def wants_joining(files: Sequence[LakeFile], target: int) -> bool:
    """The day in progress: its files are joined only, to be sorted by meter when the day is over."""
    return sum(each.size < target // 2 for each in files) >= MANY


def is_clustered(files: Sequence[LakeFile]) -> bool:
    """No meter lies in more than two files; neighbours may share those at their border."""
    ordered = sorted(files, key=lambda each: (each.low, each.high))
    return all(after.low >= before.high for before, after in zip(ordered, ordered[2:], strict=False))
