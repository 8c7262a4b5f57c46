"""Places in topics as callers write them: a topic, a partition and where it is wanted an offset.

It checks their form; whether they are there is for the directory to say.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.bodies import LARGEST_PARTITION, Malformed, number_of, shown, text_of

LARGEST_OFFSET = 2**63 - 2
USUAL_TIMEOUT_MS, LONGEST_TIMEOUT_MS = 1000, 60_000
TIMEOUT = "timeout"
LIST, LIST_WITH_OFFSETS = "topicPartitions", "topicPartitionOffsets"
_MISSING = -1


class Place(NamedTuple):
    said: str  # where in the body it stands, as a sentence about it begins
    topic: str
    partition: int
    offset: int = _MISSING


def read_places(found: Any, *, offsets: bool, timeout: bool = False) -> list[Place]:
    """An object with one place, or with a list of them, or both, or an array; each partition once."""
    try:
        places = list(_places(found, offsets=offsets, timeout=timeout))
    except Malformed as error:
        raise Problem(400, f"{error}.") from None
    seen: set[tuple[str, int]] = set()
    for place in places:
        if place[1:3] in seen:
            raise Problem(400, f"{place.said}{place.topic}/{place.partition} is there twice; name it once.")
        seen.add(place[1:3])
    if not places:
        raise Problem(400, "The body names no topic and partition; name one at least.")
    return places


def read_timeout(found: Any, *, alone: bool = False) -> int:
    """How long to wait for records, in ms; `alone`: the body may hold nothing else."""
    if type(found) is not dict:
        raise Problem(400, f"The body must be an object, not {shown(found)}.")
    try:
        if alone:
            _refuse_unknown(found, (TIMEOUT,))
        return number_of(found, TIMEOUT, 0, LONGEST_TIMEOUT_MS, USUAL_TIMEOUT_MS)
    except Malformed as error:
        raise Problem(400, f"{error}.") from None


def _places(found: Any, *, offsets: bool, timeout: bool) -> Iterator[Place]:
    if type(found) is list:
        yield from _each(found, "", offsets=offsets)
        return
    if type(found) is not dict:
        raise Malformed(f"the body must be an object or an array, not {shown(found)}")
    own = ("topic", "partition", "offset") if offsets else ("topic", "partition")
    name = LIST_WITH_OFFSETS if offsets else LIST
    _refuse_unknown(found, (*own, name, TIMEOUT) if timeout else (*own, name))
    if any(each in found for each in own):
        yield _place(found, "", offsets=offsets)
    if name in found:
        if type(found[name]) is not list:
            raise Malformed(f"{name} is {shown(found[name])}, but must be an array")
        yield from _each(found[name], name, offsets=offsets)


def _each(found: list[Any], name: str, *, offsets: bool) -> Iterator[Place]:
    known = ("topic", "partition", "offset") if offsets else ("topic", "partition")
    for index, item in enumerate(found):
        said = f"{name}[{index}]: "
        try:
            if type(item) is not dict:
                raise Malformed(f"a place is an object with {', '.join(known)}, not {shown(item)}")
            _refuse_unknown(item, known)
            place = _place(item, said, offsets=offsets)
        except Malformed as error:
            raise Malformed(f"{said}{error}") from None
        yield place


def _place(item: dict[str, Any], said: str, *, offsets: bool) -> Place:
    topic = text_of(item, "topic")
    partition = number_of(item, "partition", 0, LARGEST_PARTITION, _MISSING)
    offset = number_of(item, "offset", 0, LARGEST_OFFSET, _MISSING) if offsets else 0
    if topic is None or partition == _MISSING or offset == _MISSING:
        missing = "topic" if topic is None else "partition" if partition == _MISSING else "offset"
        raise Malformed(f"{missing} is missing")
    return Place(said, topic, partition, offset)


def _refuse_unknown(item: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in item:
        if name not in known:
            raise Malformed(f"{shown(name)} is not a property of this; there is {', '.join(known)}")
