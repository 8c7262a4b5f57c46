"""Windows of time whose readings came late are added up again from the lake."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.pipeline import cells as native
from strom.pipeline.given import given
from strom.pipeline.lake.archive import Archive


def lake_moments_in(archive: Archive, keys: Iterable[tuple[str, int]], window_ms: int) -> DataFrame:
    """All moments that the lake has in these windows (meter and start), with a column `window`."""
    wanted = sorted(keys)
    since: dict[str, int | None] = {}
    for meter, start in wanted:
        since.setdefault(meter, start - 1)  # sorted: the first is the earliest
    windows = F.broadcast(given(archive.spark, wanted, "meter string, window bigint"))
    return (
        native.moments(archive.read_since(since))
        .withColumn("window", F.col("t") - F.col("t") % window_ms)
        .join(windows, ["meter", "window"], "left_semi")
    )
