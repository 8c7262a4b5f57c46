"""The lake in figures, and its readings as they are or were: for people, read only."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import time_text
from strom.errors import StromError
from strom.pipeline.lake.files import by_day, wants_clustering
from strom.pipeline.lake.reading_text import lake_json
from strom.pipeline.lake.table import Lake, in_span
from strom.pipeline.lake.upkeep import MB, Upkeep
from strom.settings import Settings


@dataclass(frozen=True)
class Day:
    day: date
    files: int
    bytes: int
    readings: int
    wants_upkeep: bool


@dataclass(frozen=True)
class Status:
    path: str
    days: list[Day]
    oldest: int  # version that can still be looked at
    newest: int
    oldest_at: datetime
    meters: dict[str, int] = field(default_factory=dict)

    @property
    def files(self) -> int:
        return sum(day.files for day in self.days)

    @property
    def bytes(self) -> int:
        return sum(day.bytes for day in self.days)

    @property
    def readings(self) -> int:
        return sum(day.readings for day in self.days)

    @property
    def want_upkeep(self) -> int:
        return sum(day.wants_upkeep for day in self.days)

    def as_json(self) -> dict[str, Any]:
        days = [asdict(day) | {"day": day.day.isoformat()} for day in self.days]
        told = {"path": self.path, "files": self.files, "bytes": self.bytes, "readings": self.readings}
        versions = {"oldest": self.oldest, "newest": self.newest, "oldest_at": self.oldest_at.isoformat()}
        return told | {"days": days, "versions": versions} | ({"meters": self.meters} if self.meters else {})


def lake_status(settings: Settings, spark: SparkSession, *, meters: bool = False) -> Status:
    lake = Lake(settings, spark)
    oldest, newest, oldest_ms = lake.versions()
    days = [
        Day(
            day,
            len(files),
            sum(each.size for each in files),
            sum(each.rows for each in files),
            wants_clustering(files, settings.lake.file_mb * MB),
        )
        for day, files in by_day(Upkeep(settings, spark).files()).items()
    ]
    counts = lake.readings().groupBy("meter").count().sort("meter").collect() if meters else []
    return Status(
        lake.path,
        days,
        oldest,
        newest,
        datetime.fromtimestamp(oldest_ms / 1000, UTC),
        {row["meter"]: row["count"] for row in counts},
    )


def readings_of(
    settings: Settings,
    spark: SparkSession,
    meter: str,
    *,
    version: int | None = None,
    at_ms: int | None = None,
    since: int | None = None,
    limit: int = 20,
) -> Iterator[str]:
    """The newest readings of a meter in order of time, as JSON; now, as of a version or as of a time."""
    lake = Lake(settings, spark)
    try:
        if at_ms is not None:
            version = lake.version_at(at_ms)
        rows = (
            in_span(lake.readings(version), since, None)
            .where(F.col("meter") == meter)
            .sort(F.desc("at"), F.desc("received"))
            .limit(limit)
            .select(lake_json().alias("value"))
            .collect()
        )
    except AnalysisException as error:
        told = f"version {version}" if at_ms is None else time_text(at_ms)
        reason = str(error).strip().splitlines()[0]
        raise StromError(
            f"the lake cannot be shown as of {told} ({reason}); `strom lake status` tells which versions there are."
        ) from None
    if not rows:
        raise StromError(
            f"the lake holds no such readings of {meter}; `strom lake status --meters` lists the meters."
        )
    yield from (row["value"] for row in reversed(rows))
