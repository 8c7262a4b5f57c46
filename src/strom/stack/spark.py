"""The embedded Spark cluster: a standalone master and its workers, from the Spark that is inside pyspark.

Executors are the workers' children. They get the connectors' jars, Strom and its Python libraries from the driver, so
nothing but a Python of the same minor version has to be installed where the workers run.
"""

import json
import os
import socket
import urllib.request
from abc import abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.java import find_java
from strom.stack.part import NotReadyError, Part

GROUP = "spark"
DAEMON_MEMORY = "256m"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # these only start others and count them
PROBE_SECONDS = 3.0
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
)  # all that a worker needs of this process's environment


class SparkDaemon(Part):
    group: ClassVar[str | None] = GROUP
    role: ClassVar[str]  # Spark's class

    def check(self) -> None:
        find_java()
        spark_home()
        super().check()

    @property
    def environment(self) -> Mapping[str, str]:
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return kept | {
            "JAVA_HOME": str(Path(find_java()).resolve().parent.parent),
            "SPARK_HOME": str(spark_home()),
            "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_LAUNCHER_OPTS": QUICK,
            "SPARK_LOCAL_IP": self.settings.spark.host,
            "SPARK_LOCAL_DIRS": str(self._scratch),
        }

    def prepare(self) -> None:
        super().prepare()
        self._scratch.mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        return [str(spark_home() / "bin" / "spark-class"), self.role, *self.arguments()]

    @abstractmethod
    def arguments(self) -> list[str]:
        """For Spark's class."""

    @property
    def _scratch(self) -> Path:
        return self.home / "spark" / "scratch"


class SparkMaster(SparkDaemon):
    name: str = "spark-master"
    label: str = "the Spark master"
    role: ClassVar[str] = "org.apache.spark.deploy.master.Master"

    @property
    def address(self) -> str:
        return self.settings.spark_cluster

    @property
    def external(self) -> bool:
        return self.settings.spark.join is not None

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        spark = self.settings.spark
        return (spark.host, spark.port, "spark.port"), (spark.host, spark.ui_port, "spark.ui_port")

    def arguments(self) -> list[str]:
        spark = self.settings.spark
        return ["--host", spark.host, "--port", str(spark.port), "--webui-port", str(spark.ui_port)]

    def probe(self, pid: int | None) -> None:
        try:
            socket.create_connection(_host_and_port(self.address), timeout=PROBE_SECONDS).close()
            if not self.external:
                _ask(self.settings.spark.host, self.settings.spark.ui_port)
        except OSError as error:
            raise NotReadyError(str(error)) from error


class SparkWorker(SparkDaemon):
    name: str = "spark-worker-1"
    label: str = "Spark worker 1"
    role: ClassVar[str] = "org.apache.spark.deploy.worker.Worker"
    needs: tuple[str, ...] = ("spark-master",)

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings)
        self.number = number
        self.name, self.label = f"spark-worker-{number}", f"Spark worker {number}"

    @classmethod
    def all_of(cls, settings: Settings) -> list[Part]:
        return [cls(settings, number) for number in range(1, settings.spark.workers + 1)]

    @property
    def address(self) -> str:
        spark = self.settings.spark
        return f"{spark.host}:{spark.port + self.number} ({spark.worker_cores} cores, {spark.worker_memory})"

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        spark = self.settings.spark
        return (
            (spark.host, spark.port + self.number, "spark.port"),
            (spark.host, spark.ui_port + self.number, "spark.ui_port"),
        )

    def arguments(self) -> list[str]:
        spark = self.settings.spark
        flags = {
            "--host": spark.host,
            "--port": spark.port + self.number,
            "--webui-port": spark.ui_port + self.number,
            "--cores": spark.worker_cores,
            "--memory": spark.worker_memory,
            "--work-dir": self.home / "spark" / f"work-{self.number}",
        }
        return [str(word) for flag in flags.items() for word in flag] + [self.settings.spark_cluster]

    def probe(self, pid: int | None) -> None:
        """A worker that the master has taken knows the master's own page."""
        try:
            answer = _ask(self.settings.spark.host, self.settings.spark.ui_port + self.number)
        except OSError as error:
            raise NotReadyError(str(error)) from error
        if not answer.get("masterwebuiurl"):
            raise NotReadyError("the master has not taken it yet")


def spark_home() -> Path:
    """Where pyspark keeps its Spark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise StromError("pyspark is missing: run `make setup` to install it.")
    return Path(found.origin).parent


def _host_and_port(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("spark://").partition(",")[0].rpartition(":")
    if not host or not port.isdecimal():
        raise StromError(f"{url} is not the address of a Spark master: write it as spark://host:port.")
    return host, int(port)


def _ask(host: str, port: int) -> dict[str, Any]:
    """A daemon's page as JSON; never by way of a proxy."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://{host}:{port}/json/", timeout=PROBE_SECONDS) as answer:
        try:
            found: dict[str, Any] = json.load(answer)
        except ValueError:
            # The first thing that a daemon serves is its page for people, under every address.
            raise NotReadyError(f"the page at {host}:{port} does not answer in JSON yet") from None
    return found
