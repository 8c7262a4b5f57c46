"""The statistics of quarter-hours as the table holds them: arrays in the order of `QUANTITIES`."""

from collections.abc import Iterable, Sequence

from strom.domain.statistics import QUANTITIES, Band, Statistics
from strom.store.profile_tables import METER_TIMES, meter_times, millis, moment
from strom.store.writes import Work

Key = tuple[str, int]  # meter and slot
Part = tuple[
    str, int, str, str, str, str
]  # meter, slot; sums, numbers, least, largest as Postgres writes arrays


def _each(expression: str) -> str:
    """An array with this of every quantity; Postgres counts from one."""
    return f"ARRAY[{', '.join(expression.format(place) for place in range(1, len(QUANTITIES) + 1))}]"


_NEW = f"""
    SELECT meter, start, {_each("sum(totals[{}])")}, {_each("sum(counts[{}])")}, {_each("min(lows[{}])")}, {_each("max(highs[{}])")}
    FROM new_statistics GROUP BY meter, start"""  # noqa: S608  nothing in it comes from outside
_ADD = f"""
    INSERT INTO slot_statistics AS s {_NEW}
    ON CONFLICT (meter, start) DO UPDATE SET
        totals = {_each("s.totals[{0}] + excluded.totals[{0}]")},
        counts = {_each("s.counts[{0}] + excluded.counts[{0}]")},
        lows = {_each("least(s.lows[{0}], excluded.lows[{0}])")},
        highs = {_each("greatest(s.highs[{0}], excluded.highs[{0}])")}
    """


def load_statistics(work: Work, keys: Iterable[Key]) -> dict[Key, Statistics]:
    found = work.rows(
        f"SELECT s.* FROM {METER_TIMES} CROSS JOIN LATERAL ("  # noqa: S608  nothing in it comes from outside
        "SELECT s.meter, s.start, s.totals, s.counts, s.lows, s.highs FROM slot_statistics s "
        "WHERE s.meter = k.meter AND s.start = k.start OFFSET 0) s",
        *meter_times(keys),
    )
    return {
        (meter, millis(start)): {
            name: Band(int(total), count, low, high)
            for name, total, count, low, high in zip(QUANTITIES, *columns, strict=True)
            if count
        }
        for meter, start, *columns in found
    }


def add_statistics(work: Work, parts: Sequence[Part]) -> None:
    """Add parts of slots, which have no moment in common with each other or with what is stored."""
    _stage(work, parts)
    work.execute(_ADD)


def replace_statistics(work: Work, parts: Sequence[Part]) -> set[Key]:
    """Store slots of which these are all parts in place of what is there; returns those that are others now."""
    if not parts:
        return set()
    _stage(work, parts)
    found = work.rows(
        f"INSERT INTO slot_statistics AS s {_NEW} ON CONFLICT (meter, start) DO UPDATE SET "
        "totals = excluded.totals, counts = excluded.counts, lows = excluded.lows, highs = excluded.highs "
        "WHERE (s.totals, s.counts, s.lows, s.highs) IS DISTINCT FROM "
        "(excluded.totals, excluded.counts, excluded.lows, excluded.highs) RETURNING s.meter, s.start"
    )
    return {(meter, millis(start)) for meter, start in found}


def _stage(work: Work, parts: Sequence[Part]) -> None:
    work.ensure_partitions(start for _, start, *_ in parts)
    work.stage(
        "new_statistics",
        "LIKE slot_statistics",
        ((meter, moment(start), *arrays) for meter, start, *arrays in parts),
    )
