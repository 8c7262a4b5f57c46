"""What the executors of a cluster are sent is all that Python needs there beside Spark's own part of it."""

import subprocess
import venv
from pathlib import Path

import pyspark
import pytest

from strom.pipeline.shipping import library_archive, strom_archive

RUNS = """
import sys, zipfile
strom_zip, libraries, folder, *spark = sys.argv[1:]
zipfile.ZipFile(libraries).extractall(folder)
sys.path += [strom_zip, folder, *spark]
import strom.pipeline.shipped
"""
DECODES = """
from strom.devices import dsmr_p1, shelly_3em, tasmota_sml
from strom.pipeline.decoding import decoded
from dsmr_parser.parsers import TelegramParser
found = decoded({}, b'{"name":"m","1-0:1.8.0":{"value":1}}', None, 1763240000000, "mqtt", None)
print(found.meter, decoded.__code__.co_filename.startswith(strom_zip))
print(sorted({"confluent_kafka", "psycopg", "strom.devices.registry"} & set(sys.modules)))
"""
WRITES = """
from strom.pipeline.process import arrivals, executor, settlement, shards
import confluent_kafka, psycopg
print(psycopg.pq.__impl__, confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1"}) is not None)
print(all(each.__file__.startswith(folder) for each in (confluent_kafka, psycopg)))
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has nothing but itself."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("archives")
    return strom_archive(folder), library_archive(folder)


def said(python: Path, archives: tuple[Path, Path], folder: Path, code: str) -> str:
    spark = Path(pyspark.__file__).parent / "python" / "lib"
    given = [*archives, folder, *spark.glob("*.zip")]
    done = subprocess.run(
        [python, "-I", "-c", RUNS + code, *given], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_decoders_run_there_and_need_neither_kafka_nor_postgres(
    bare_python: Path, archives: tuple[Path, Path], tmp_path: Path
) -> None:
    assert said(bare_python, archives, tmp_path, DECODES) == "m True\n[]\n"


def test_shards_run_there(bare_python: Path, archives: tuple[Path, Path], tmp_path: Path) -> None:
    assert said(bare_python, archives, tmp_path, WRITES) == "binary True\nTrue\n"
