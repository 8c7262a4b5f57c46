"""The settings of Spark: where the pipeline runs, the embedded cluster, and anything that Spark itself can be told."""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from strom.settings.section import Section

EMBEDDED_CLUSTER = "cluster"  # as spark.master: the one that `strom up` starts


def _flat(given: Any) -> Any:
    """A table of names and values; dotted names make nested tables in TOML, and JSON is how a variable says it."""
    try:
        table = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        table = None
    if not isinstance(table, dict):
        raise ValueError('write a table of Spark\'s own names, such as {"spark.executor.cores": "2"}')
    return dict(_leaves(table, ""))


def _leaves(table: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            found += _leaves(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", str(value).lower() if isinstance(value, bool) else str(value)))
    return found


class SparkSettings(Section):
    master: str = Field(
        "local[8]",
        description="Spark master: local[N] runs here and needs more threads than the raw topic has partitions; `cluster` is the embedded cluster; spark://host:port an existing one.",
    )
    driver_memory: str = Field("3g", description="Java heap of the Spark driver.")
    driver_host: str | None = Field(
        None,
        description="Address under which the executors of a cluster reach the pipeline; empty: loopback if the master is there, else this host's name.",
    )
    executor_memory: str = Field(
        "1g", description="Java heap of each executor on a cluster; its Python processes need more beside it."
    )
    java_options: str | None = Field(
        None, description="More options for the Java of the Spark driver and of the executors on a cluster."
    )
    python: str | None = Field(
        None,
        description="Python of the executors, which the stages on `readings` and the side query need; empty: PYSPARK_PYTHON, or the path that it has here.",
    )
    wait_seconds: float = Field(
        60.0, gt=0, description="How long to wait for executors of a cluster before giving up."
    )
    host: str = Field("127.0.0.1", description="Address the embedded cluster listens on.")
    port: int = Field(
        7077, description="Port of the embedded cluster's master; its workers have the next ones."
    )
    ui_port: int = Field(
        8081, description="Port of the master's own page; those of its workers have the next ones."
    )
    workers: int = Field(2, ge=1, description="Workers of the embedded cluster.")
    worker_cores: int = Field(4, ge=1, description="Task slots of each worker of the embedded cluster.")
    worker_memory: str = Field(
        "2g", description="Memory that each worker of the embedded cluster may give away."
    )
    join: str | None = Field(
        None, description="Master that the embedded workers join, spark://host:port; empty starts one here."
    )
    jars: str | None = Field(
        None, description="More jars for the pipeline, paths or URLs with commas between."
    )
    packages: str | None = Field(
        None, description="More jars for the pipeline, as Maven coordinates with commas between."
    )
    conf: Annotated[dict[str, str], BeforeValidator(_flat)] = Field(
        default_factory=dict, description="Any of Spark's own options; as a variable it is a JSON object."
    )
