"""The segments of every series, so that a micro-batch goes on where the last one ended; knows no rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from strom.domain.acceptance import Point
from strom.domain.load_profile import Direction
from strom.domain.segments import Border, Measure, Segment
from strom.domain.slots import SLOT_MS
from strom.domain.tariffs import TARIFFS, Owner, Tariff, meter_of
from strom.store.writes import Work, array_of, columns_of, texts_of

Key = tuple[Owner, Direction]
Around = tuple[
    list[Segment], list[Segment]
]  # the segments that end before the last of some late readings, and two behind

# The column `direction`: import and export, and of a tariff import_t1 …
_TARIFFS = {f"{direction}_t{number}": (direction, number) for direction in Direction for number in TARIFFS}

_FIELDS = (
    "slot, first_t, last_t, last_v, total, inner_energy, samples, start_border, start_mwh, run_start, run_mwh, "
    "reset, jump, trail, streak, fall_t, jump_t"
)
_SEGMENT = ", ".join(f"g.{name}" for name in _FIELDS.split(", "))
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in _FIELDS.split(", ")[1:])


_AFTER_ALL = 2**62  # a slot after every slot


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a series stands: its last settled segment and the readings after it that are not settled yet."""

    measure: Measure
    seen: int
    pending: tuple[Point, ...]
    segment: Segment


@dataclass(frozen=True, slots=True)
class SeriesChange:
    """`replaced_after`: segments in later slots are void (0: all of them); None when the series only grew.

    With `replaced_before` only those before that slot are; then `seen` is None, and where the series stands is as it was.
    """

    key: Key
    measure: Measure
    seen: int | None
    pending: tuple[Point, ...]
    settled: Sequence[Segment]
    replaced_after: int | None
    replaced_before: int | None = None


def load_tails(work: Work, meters: Iterable[str]) -> dict[Key, Tail]:
    """All series of these meters, those of their tariffs, too."""
    found = work.rows(
        f"""
        SELECT s.*, g.* FROM unnest(%s::text[]) AS k(meter)
        CROSS JOIN LATERAL (
            SELECT s.meter, s.direction, s.measure, s.seen, s.pending, s.tail FROM profile_series s
            WHERE s.meter = k.meter OFFSET 0
        ) s
        CROSS JOIN LATERAL (
            SELECT {_SEGMENT} FROM profile_segments g
            WHERE g.meter = s.meter AND g.direction = s.direction AND g.slot = s.tail OFFSET 0
        ) g
        """,  # noqa: S608 - the names above
        texts_of(meters),
    )
    return {
        _key(meter, direction): Tail(Measure(measure), seen, _points(pending), _segment(segment))
        for meter, direction, measure, seen, pending, _, *segment in found
    }


def load_anchors(work: Work, before: Iterable[tuple[Key, int]]) -> dict[Key, Segment]:
    """For each series the last segment that no reading at or after the given time can change."""
    found = work.rows(
        f"""
        SELECT k.meter, k.direction, {_SEGMENT}
        FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS k(meter, direction, before)
        CROSS JOIN LATERAL (
            SELECT * FROM profile_segments p
            WHERE p.meter = k.meter AND p.direction = k.direction AND p.slot <= k.before
              AND p.last_t < k.before AND p.streak >= 2
            ORDER BY p.slot DESC LIMIT 1
        ) g
        """,  # noqa: S608 - the names above
        *columns_of(((*_names(key), time) for key, time in before), 3),
    )
    return {_key(meter, direction): _segment(rest) for meter, direction, *rest in found}


def load_around(work: Work, late: Iterable[tuple[Key, int, int]]) -> dict[tuple[Key, int], Around]:
    """For late readings from one time to another: the segments from their anchor on that end before the last of them, and the three after those."""
    rows = list(late)
    found = work.rows(
        f"""
        SELECT k.meter, k.direction, k.first, {_SEGMENT}
        FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[]) AS k(meter, direction, first, last)
        CROSS JOIN LATERAL (
            SELECT p.slot FROM profile_segments p
            WHERE p.meter = k.meter AND p.direction = k.direction AND p.slot <= k.first
              AND p.last_t < k.first AND p.streak >= 2
            ORDER BY p.slot DESC LIMIT 1
        ) a
        CROSS JOIN LATERAL (
            (SELECT * FROM profile_segments p
             WHERE p.meter = k.meter AND p.direction = k.direction AND p.slot >= a.slot AND p.slot <= k.last
               AND p.last_t <= k.last OFFSET 0)
            UNION ALL
            (SELECT * FROM profile_segments p
             WHERE p.meter = k.meter AND p.direction = k.direction AND p.slot > k.last - {SLOT_MS} AND p.last_t > k.last
             ORDER BY p.slot LIMIT 3)
        ) g
        """,  # noqa: S608 - the names above
        *columns_of(((*_names(key), first, last) for key, first, last in rows), 4),
    )
    lasts = {(key, first): last for key, first, last in rows}
    around: dict[tuple[Key, int], Around] = {}
    for meter, direction, first, *rest in found:
        key, segment = _key(meter, direction), _segment(rest)
        before, after = around.setdefault((key, first), ([], []))
        (after if segment.last_t > lasts[key, first] else before).append(segment)
    for before, after in around.values():
        before.sort()
        after.sort()
    return around


def save_series(work: Work, changes: Sequence[SeriesChange]) -> None:
    replaced = [
        (*_names(change.key), change.replaced_after, change.replaced_before or _AFTER_ALL)
        for change in changes
        if change.replaced_after is not None
    ]
    if replaced:
        work.execute(
            "DELETE FROM profile_segments g USING unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[]) "
            "AS k(meter, direction, after, before) "
            "WHERE g.meter = k.meter AND g.direction = k.direction AND g.slot > k.after AND g.slot < k.before",
            *columns_of(replaced, 4),
        )
    work.ensure_partitions(segment.slot for change in changes for segment in change.settled)
    work.stage(
        "new_segments",
        "LIKE profile_segments",
        ((*_names(change.key), *_values(segment)) for change in changes for segment in change.settled),
    )
    work.execute(
        f"INSERT INTO profile_segments SELECT * FROM new_segments "  # noqa: S608 - the names above
        f"ON CONFLICT (meter, direction, slot) DO UPDATE SET {_UPDATES}"
    )
    work.stage(
        "new_series",
        "LIKE profile_series",
        (
            (
                *_names(c.key),
                c.measure.value,
                c.seen,
                array_of(number for point in c.pending for number in point),
                c.settled[-1].slot,
            )
            for c in changes
            if c.seen is not None
        ),
    )
    work.execute(
        "INSERT INTO profile_series SELECT * FROM new_series ON CONFLICT (meter, direction) DO UPDATE "
        "SET measure = excluded.measure, seen = excluded.seen, pending = excluded.pending, tail = excluded.tail"
    )


def series_name(key: Key) -> str:
    """The column `direction`."""
    owner, direction = key
    return f"{direction}_t{owner.number}" if isinstance(owner, Tariff) else str(direction)


def _names(key: Key) -> tuple[str, str]:
    return meter_of(key[0]), series_name(key)


def _key(meter: str, direction: str) -> Key:
    if direction in _TARIFFS:
        way, number = _TARIFFS[direction]
        return Tariff(meter, number), way
    return meter, Direction(direction)


def _values(segment: Segment) -> list[Any]:
    values: list[Any] = list(segment)
    values[7] = segment.start.value
    values[13] = array_of(segment.trail)
    return values


def _segment(values: Sequence[Any]) -> Segment:
    slot, first_t, last_t, last_v, total, inner, samples, start, start_mwh, run_start, run_mwh, *rest = values
    reset, jump, trail, streak, fall_t, jump_t = rest
    return Segment(
        slot, first_t, last_t, last_v, int(total), int(inner), samples, Border(start), _whole(start_mwh),
        run_start, _whole(run_mwh), reset, jump, tuple(trail), streak, fall_t, jump_t,
    )  # fmt: skip


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _points(flat: Sequence[int]) -> tuple[Point, ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))
