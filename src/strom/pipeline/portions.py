"""Splits a large batch by meters, so that what Python holds of it at once does not grow with the batch.

Python sees cells, not readings, and most batches have few: only of meters that send seldom, or of very many, there are
nearly as many cells as readings.
"""

from collections.abc import Iterator
from math import ceil

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.pipeline.cells import CELL_MS

MOST_CELLS = 50_000  # at once; about 4 kB each in Python


def portions(readings: DataFrame, count: int) -> Iterator[DataFrame]:
    """The readings, all of a meter in the same portion; a portion may be empty."""
    number = ceil(_cells(readings) / MOST_CELLS) if count > MOST_CELLS else 1
    if number == 1:
        yield readings
        return
    place = F.pmod(F.xxhash64("meter"), F.lit(number))
    for each in range(number):
        yield readings.where(place == each)


def _cells(readings: DataFrame) -> int:
    """About how many there are."""
    cell = F.floor(F.unix_millis("at") / CELL_MS)
    found = readings.agg(F.approx_count_distinct(F.struct("meter", cell))).collect()
    return int(found[0][0])
