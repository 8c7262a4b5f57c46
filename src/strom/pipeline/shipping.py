"""Gives the executors of a cluster the Python that the side query runs there: this very Strom, whatever is installed on them."""

import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

import strom
from strom.pipeline.cluster import is_local
from strom.settings import Settings


def ship_decoders(spark: SparkSession, settings: Settings) -> None:
    """Local threads start their Python here and have it already."""
    if not is_local(settings):
        context = spark.sparkContext
        context.addPyFile(str(_archive(Path(context._temp_dir))))  # which is gone when the session is


def _archive(folder: Path) -> Path:
    """The package as a file that Python can import from."""
    package = Path(strom.__file__).parent
    archive = folder / "strom.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for file in sorted(package.rglob("*.py")):
            written.write(file, file.relative_to(package.parent))
    return archive
