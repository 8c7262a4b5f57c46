"""What it costs to look up one meter in the lake, as the batches left it or put in order."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline.bench.frames import to_nowhere
from strom.pipeline.lake.table import Lake
from strom.pipeline.lake.upkeep import MB, Upkeep
from strom.settings import Settings


@dataclass(frozen=True)
class LookUp:
    """Of one meter: milliseconds, and the files that may hold it and are opened; how many there are, of what size."""

    ms: float
    opened: float
    files: int
    megabytes: float


class LookUps:
    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self._lake = Lake(settings, spark)
        self._upkeep = Upkeep(settings, spark)

    def compact(self) -> None:
        """Every day of the lake counts as past."""
        self._upkeep.compact(datetime.now(UTC).date())

    def cost(self, meters: Sequence[str]) -> LookUp:
        """The mean over these meters; the first of them is looked up once more before, to warm up."""
        files = self._upkeep.files()
        opened = sum(each.low <= meter <= each.high for meter in meters for each in files)
        self._all_of(meters[0])
        began = time.monotonic()
        for meter in meters:
            self._all_of(meter)
        ms = (time.monotonic() - began) * 1000 / len(meters)
        return LookUp(ms, opened / len(meters), len(files), sum(each.size for each in files) / MB)

    def _all_of(self, meter: str) -> None:
        to_nowhere(self._lake.readings().where(F.col("meter") == meter))
