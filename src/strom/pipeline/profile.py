"""The stage `profile`: quarter-hours and gaps from what a batch brought, the lake's help for what came late."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.acceptance import Point
from strom.domain.load_profile import Direction
from strom.domain.segments import Segment
from strom.pipeline import cells as native
from strom.pipeline.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.series import BEFORE_ALL, Cell, Update, bring_forward
from strom.store.segment_tables import Key, Tail, load_anchors, load_tails, save_series
from strom.store.writes import Work

_NEVER = 2**62


def update_series(
    work: Work, moments: DataFrame, cells: Sequence[Cell], archive: Archive, limits: Limits
) -> list[Update]:
    """Bring every touched series forward and store where it stands."""
    tails = load_tails(work, {cell["meter"] for cell in cells})
    outcome = bring_forward(cells, tails, lambda *which: _points(moments, *which), limits.energy)
    updates = outcome.updates
    if outcome.late:
        updates = updates + _again_from_anchors(work, archive, outcome.late, tails, limits)
    if updates:
        save_series(work, [update.change for update in updates])
    return updates


def _again_from_anchors(
    work: Work,
    archive: Archive,
    late: Mapping[Key, int],
    tails: Mapping[Key, Tail],
    limits: Limits,
) -> list[Update]:
    """Late series are read again from the lake, from before the late reading to their end: the same code as live."""
    anchors = load_anchors(work, late.items())
    since = {key: anchors[key].last_t if key in anchors else None for key in late}
    moments = _lake_moments(archive, since).persist()
    try:
        cells = [row.asDict() for row in native.cells(moments, limits).collect()]
        restarted = {key: _tail_at(anchor, tails[key]) for key, anchor in anchors.items()}
        replaced = {key: anchors[key].slot if key in anchors else BEFORE_ALL for key in late}
        return bring_forward(
            cells, restarted, lambda *which: _points(moments, *which), limits.energy, replaced
        ).updates
    finally:
        moments.unpersist()


def _tail_at(anchor: Segment, tail: Tail) -> Tail:
    """The series as it stood at the anchor's last reading; what was dropped after it is judged anew."""
    return Tail(tail.measure, anchor.last_t, (), replace(anchor, trail=(), fall_t=None, jump_t=None))


def _lake_moments(archive: Archive, since: Mapping[Key, int | None]) -> DataFrame:
    """Values at or before a series' anchor are blanked, for the two directions of a meter may differ in it."""
    meters = {meter for meter, _ in since}
    starts = {meter: tuple(_start(since, (meter, direction)) for direction in Direction) for meter in meters}
    earliest = {meter: min(pair) for meter, pair in starts.items()}
    bounds = F.broadcast(
        archive.spark.createDataFrame(
            [(meter, *pair) for meter, pair in starts.items()],
            "meter string, import_since bigint, export_since bigint",
        )
    )
    moments = native.moments(archive.read_since(dict(earliest))).join(bounds, "meter")
    for direction in Direction:
        for kind in ("c", "p"):
            name = f"{direction}_{kind}"
            moments = moments.withColumn(name, F.when(F.col("t") > F.col(f"{direction}_since"), F.col(name)))
    return moments


def _start(since: Mapping[Key, int | None], key: Key) -> int:
    if key not in since:
        return _NEVER
    found = since[key]
    return BEFORE_ALL if found is None else found


def _points(moments: DataFrame, direction: Direction, meters: Sequence[str]) -> Mapping[str, Sequence[Point]]:
    wanted = F.broadcast(moments.sparkSession.createDataFrame([(meter,) for meter in meters], "meter string"))
    found: dict[str, list[Point]] = {meter: [] for meter in meters}
    for row in native.series(moments, direction).join(wanted, "meter", "left_semi").sort("t").collect():
        found[row["meter"]].append((row["t"], row["v"]))
    return found
