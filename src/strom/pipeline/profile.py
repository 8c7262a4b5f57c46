"""The stage `profile`: quarter-hours and gaps from what a batch brought, the lake's help for what came late."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.acceptance import Point
from strom.domain.load_profile import Direction
from strom.domain.segments import Segment
from strom.domain.tariffs import Owner, meter_of
from strom.pipeline import cells as native
from strom.pipeline.given import given
from strom.pipeline.halves import earliest
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.registers import METER_TOTALS, Registers
from strom.pipeline.series import BEFORE_ALL, Cell, Update, bring_forward, by_owner
from strom.store.segment_tables import Key, Tail, load_anchors, load_tails, save_series
from strom.store.writes import Work

_NEVER = 2**62


def update_series(
    work: Work,
    moments: DataFrame,
    cells: Sequence[Cell],
    archive: Archive,
    limits: Limits,
    registers: Registers = METER_TOTALS,
) -> list[Update]:
    """Bring every touched series forward and store where it stands."""
    tails = load_tails(work, {cell["meter"] for cell in cells})
    outcome = bring_forward(
        by_owner(cells, registers.owner),
        tails,
        lambda *which: _points(moments, registers, *which),
        limits.energy,
    )
    updates = outcome.updates
    if outcome.late:
        updates = updates + _again_from_anchors(work, archive, outcome.late, tails, limits, registers)
    if updates:
        save_series(work, [update.change for update in updates])
    return updates


def _again_from_anchors(
    work: Work,
    archive: Archive,
    late: Mapping[Key, int],
    tails: Mapping[Key, Tail],
    limits: Limits,
    registers: Registers,
) -> list[Update]:
    """Late series are read again from the lake, from before the late reading to their end: the same code as live."""
    anchors = load_anchors(work, late.items())
    since = {key: anchors[key].last_t if key in anchors else None for key in late}
    with held(lake_moments(archive, since, registers)) as moments:
        cells = native.collected(native.series_cells(moments, limits, registers.by))
        restarted = {key: _tail_at(anchor, tails[key]) for key, anchor in anchors.items()}
        replaced = {key: anchors[key].slot if key in anchors else BEFORE_ALL for key in late}
        return bring_forward(
            by_owner(cells, registers.owner),
            restarted,
            lambda *which: _points(moments, registers, *which),
            limits.energy,
            replaced,
        ).updates


def _tail_at(anchor: Segment, tail: Tail) -> Tail:
    """The series as it stood at the anchor's last reading; what was dropped after it is judged anew."""
    return Tail(tail.measure, anchor.last_t, (), anchor._replace(trail=(), fall_t=None, jump_t=None))


def lake_moments(archive: Archive, since: Mapping[Key, int | None], registers: Registers) -> DataFrame:
    """Values at or before a series' anchor are blanked, for the two directions of a meter may differ in it."""
    owners = {owner for owner, _ in since}
    starts = {owner: tuple(_start(since, (owner, direction)) for direction in Direction) for owner in owners}
    first = earliest((meter_of(owner), min(pair)) for owner, pair in starts.items())
    bounds = F.broadcast(
        given(
            archive.spark,
            [(*registers.columns(owner), *pair) for owner, pair in starts.items()],
            f"{registers.schema}, import_since bigint, export_since bigint",
        )
    )
    moments = registers.moments(archive.read_since(dict(first))).join(bounds, list(registers.by))
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


def _points(
    moments: DataFrame, registers: Registers, direction: Direction, owners: Sequence[Owner]
) -> Mapping[Owner, Sequence[Point]]:
    rows = [tuple(registers.columns(owner)) for owner in owners]
    wanted = F.broadcast(given(moments.sparkSession, rows, registers.schema))
    points = native.series(moments, direction, registers.by).join(wanted, list(registers.by), "left_semi")
    found: dict[Owner, list[Point]] = {owner: [] for owner in owners}
    for row in points.sort("t").collect():
        found[registers.owner(row)].append((row["t"], row["v"]))
    return found
