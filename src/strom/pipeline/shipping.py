"""Gives the executors of a cluster the Python that runs there: this very Strom and its libraries, whatever is installed on them.

A machine there needs a Python of the same minor version, and of the same kind of processor, as the driver's.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from pyspark.sql import SparkSession

import strom
from strom.pipeline.cluster import is_local
from strom.pipeline.shipped import FOLDER
from strom.settings import Settings

# What the shards and the decoders import; whatever these require goes with them.
LIBRARIES = (
    "confluent-kafka",
    "dsmr-parser",
    "orjson",
    "prometheus-client",
    "psycopg",
    "psycopg-binary",
    "pydantic",
)
_REQUIRED = re.compile(r"[\w.-]+")


def ship(spark: SparkSession, settings: Settings) -> None:
    """Once in a session. Local threads start their Python here and have it already."""
    context = spark.sparkContext
    if is_local(settings) or any(url.endswith(f"#{FOLDER}") for url in context.listArchives):
        return
    folder = Path(context._temp_dir)  # which is gone when the session is
    context.addPyFile(str(strom_archive(folder)))
    context.addArchive(f"{library_archive(folder)}#{FOLDER}")


def strom_archive(folder: Path) -> Path:
    """The package as a file that Python can import from."""
    package = Path(strom.__file__).parent
    files = ((file, file.relative_to(package.parent)) for file in sorted(package.rglob("*.py")))
    archive = _packed(folder / "strom.zip", files)
    with zipfile.ZipFile(archive, "a") as written:  # where the package looks for its own version
        metadata = f"Metadata-Version: 2.1\nName: strom\nVersion: {strom.__version__}\n"
        written.writestr(f"strom-{strom.__version__}.dist-info/METADATA", metadata)
    return archive


def library_archive(folder: Path) -> Path:
    """The libraries as a folder to unpack: parts of them are no Python."""
    files = (
        (Path(str(file.locate())), Path(str(file)))
        for each in _with_required(LIBRARIES)
        for file in each.files or ()
        if ".." not in file.parts and "__pycache__" not in file.parts
    )
    return _packed(folder / "libraries.zip", files)


def _with_required(names: Iterable[str]) -> list[Distribution]:
    """These and what they require, as far as it is installed: what only an extra requires may not be."""
    found: dict[str, Distribution] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        try:
            each = distribution(name)
        except PackageNotFoundError:
            continue
        if each.metadata["Name"] not in found:
            found[each.metadata["Name"]] = each
            wanted += _required(each)
    return list(found.values())


def _required(each: Distribution) -> Iterator[str]:
    for line in each.requires or ():
        name = _REQUIRED.match(line)
        if name is not None and "extra ==" not in line:
            yield name[0]


def _packed(archive: Path, files: Iterable[tuple[Path, Path]]) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
        for file, name in files:
            if file.is_file():
                written.write(file, name)
    return archive
