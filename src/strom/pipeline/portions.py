"""Splits a large batch by meters, so that what Python holds of it at once does not grow with the batch.

Python sees cells, not readings, and most batches have few: only of meters that send seldom, or of very many, there are
nearly as many cells as readings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strom.pipeline.cells import collected
from strom.pipeline.held import held

MOST_CELLS = 50_000  # at once; about 4 kB each in Python


@dataclass(frozen=True)
class Portion:
    """All cells of some of the meters, as dictionaries."""

    cells: list[dict[str, Any]]
    place: Column | None = None

    def of(self, frame: DataFrame) -> DataFrame:
        """What the frame holds of these meters."""
        return frame if self.place is None else frame.where(self.place)


def portions(cells: DataFrame, most: int | None = None) -> Iterator[Portion]:
    """A batch's cells, of which there are at most so many, if that is known; a portion may be empty."""
    if most is not None and most <= MOST_CELLS:
        yield Portion(collected(cells))
        return
    with held(cells) as kept:
        number = ceil(kept.count() / MOST_CELLS)
        for each in range(number):
            place = F.pmod(F.xxhash64("meter"), F.lit(number)) == each if number > 1 else None
            yield Portion(collected(kept if place is None else kept.where(place)), place)
