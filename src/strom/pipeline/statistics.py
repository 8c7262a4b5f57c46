"""The statistics of the quarter-hours that a batch touched: added to what is stored while readings come in order, else from the lake."""

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from strom.domain.slots import SLOT_MS, slot_of
from strom.domain.statistics import QUANTITIES, Band, Statistics, merged
from strom.pipeline import cells as native
from strom.pipeline.lake.archive import Archive
from strom.pipeline.series import Cell
from strom.pipeline.windows import lake_moments_in
from strom.store.meter_tables import MeterState
from strom.store.statistics_tables import Key, load_statistics, save_statistics
from strom.store.writes import Work

# Of each quantity the columns with its sum, number, least and largest.
_COLUMNS = {
    name: (column, f"{column}_n", f"{column}_low", f"{column}_high")
    for name, column in zip(QUANTITIES, native.BANDS, strict=True)
}


def update_statistics(
    work: Work, cells: Mapping[str, Sequence[Cell]], old: Mapping[str, MeterState], archive: Archive
) -> None:
    """Bring the statistics of every touched slot up to date."""
    brought: dict[Key, Statistics] = {}
    late: set[Key] = set()
    for meter, own in cells.items():
        for cell in own:
            key = (meter, slot_of(cell["cell"]))
            brought[key] = merged(brought.get(key, {}), _bands(cell))
            if meter in old and cell["first_t"] <= old[meter].newest:
                late.add(key)
    stored = load_statistics(work, brought)
    # A slot in which the meter was seen, but not by this stage: it did not run then. (One without bands has a row, too.)
    late |= {key for key in brought if key not in stored and key[0] in old and old[key[0]].newest >= key[1]}
    found = {key: merged(stored.get(key, {}), bands) for key, bands in brought.items() if key not in late}
    save_statistics(work, found | _from_lake(archive, late))


def _from_lake(archive: Archive, late: set[Key]) -> dict[Key, Statistics]:
    if not late:
        return {}
    moments = lake_moments_in(archive, late, SLOT_MS)
    rows = moments.groupBy("meter", F.col("window").alias("cell")).agg(*native.band_columns()).collect()
    return {(row["meter"], row["cell"]): _bands(row) for row in rows}


def _bands(cell: Cell) -> dict[str, Band]:
    return {
        name: Band(int(cell[total]), cell[count], cell[low], cell[high])
        for name, (total, count, low, high) in _COLUMNS.items()
        if cell[count]
    }
