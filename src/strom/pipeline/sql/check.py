"""Tells of query files whether they would run, without running them."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.sql.live import LiveQuery
from strom.pipeline.sql.query_files import query_paths, read_query
from strom.pipeline.sql.user_queries import wish_of
from strom.settings import Settings


def checked(spark: SparkSession, settings: Settings, place: Path) -> Iterator[tuple[Path, str, str | None]]:
    """For a file, or each of a folder: path, what it would do, and the sentence if it cannot."""
    if not place.exists():
        raise StromError(f"There is no file or folder {place}.")
    paths = query_paths(place) if place.is_dir() else [place]
    if not paths:
        raise StromError(f"There is no query in {place}; their names end in .sql.")
    for path in paths:
        try:
            wish = wish_of(settings, read_query(path))
            query = LiveQuery(spark, settings, wish)
            yield path, f"into {wish.into} ({query.mode})", None
        except StromError as error:
            yield path, "", str(error)
