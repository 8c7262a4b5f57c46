"""What the executors of a cluster are sent is all that decoding needs beside the libraries of the dialects."""

import subprocess
import sys
from pathlib import Path

from strom.pipeline.shipping import _archive

DECODES = """
import sys
sys.path.insert(0, sys.argv[1])
from strom.devices import dsmr_p1, shelly_3em, tasmota_sml
from strom.pipeline.decoding import decoded
found = decoded({}, b'{"name":"m","1-0:1.8.0":{"value":1}}', None, 1763240000000, "mqtt", None)
print(found.meter, decoded.__code__.co_filename.startswith(sys.argv[1]))
print(sorted({"pyspark", "confluent_kafka", "psycopg", "strom.devices.registry"} & set(sys.modules)))
"""


def test_the_archive_decodes_without_spark_kafka_and_the_registry(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-c", DECODES, str(_archive(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "m True\n[]\n", done.stderr
