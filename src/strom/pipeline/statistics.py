"""The statistics of the quarter-hours that a batch touched: added to what is stored while readings come in order, else from the lake."""

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from strom.domain.slots import SLOT_MS, slot_of
from strom.pipeline.bands import as_arrays, band_columns
from strom.pipeline.lake.archive import Archive
from strom.pipeline.series import Cell
from strom.pipeline.windows import lake_moments_in
from strom.store.position_tables import Settled
from strom.store.statistics_tables import Key, Part, add_statistics, replace_statistics, unknown_slots
from strom.store.writes import Work


def update_statistics(
    work: Work, cells: Mapping[str, Sequence[Cell]], old: Mapping[str, Settled], archive: Archive
) -> set[Key]:
    """Bring the statistics of every touched slot up to date; returns the past ones that are others now."""
    brought: list[Part] = []
    late: set[Key] = set()
    begun: set[Key] = set()
    for meter, own in cells.items():
        newest = old[meter].newest if meter in old else -1
        for cell in own:
            slot = slot_of(cell["cell"])
            brought.append(_part(meter, slot, cell))
            if cell["first_t"] <= newest:
                late.add((meter, slot))
            elif slot <= newest:
                begun.add((meter, slot))
    # A slot in which the meter was seen, but not by this stage: it did not run then. (One without bands has a row, too.)
    late |= unknown_slots(work, begun)
    add_statistics(work, [part for part in brought if part[:2] not in late] if late else brought)
    return replace_statistics(work, _from_lake(archive, late))


def _from_lake(archive: Archive, late: set[Key]) -> list[Part]:
    if not late:
        return []
    moments = lake_moments_in(archive, late, SLOT_MS)
    rows = moments.groupBy("meter", F.col("window").alias("cell")).agg(*band_columns())
    return [_part(row["meter"], row["cell"], row) for row in as_arrays(rows).collect()]


def _part(meter: str, slot: int, cell: Cell) -> Part:
    return meter, slot, cell["totals"], cell["counts"], cell["lows"], cell["highs"]
