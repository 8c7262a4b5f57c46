"""The embedded Kafka: one broker that is its own controller (KRaft), on loopback, by Kafka's own steps."""

import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import ClassVar

from strom.errors import StromError
from strom.stack.java import find_java, jars_folder
from strom.stack.part import NotReadyError, Part
from strom.streams.topics import MAX_MESSAGE_BYTES

HOST = "127.0.0.1"
VERSION_FILE = "kafka-version"
PROBE_SECONDS = 3.0

LOG4J = """\
Configuration:
  status: warn
  Appenders:
    RollingFile:
      name: file
      fileName: "{logs}/kafka.log"
      filePattern: "{logs}/kafka.%i.log"
      PatternLayout: {{pattern: "%d %p %m (%c)%n"}}
      Policies: {{SizeBasedTriggeringPolicy: {{size: 10MB}}}}
      DefaultRolloverStrategy: {{max: 3}}
  Loggers:
    Root: {{level: info, AppenderRef: {{ref: file}}}}
"""

PROPERTIES = """\
# Written by Strom at every start; changes here are lost. The settings are in strom.toml, section [kafka].
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers={host}:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions={partitions}
auto.create.topics.enable=false
message.max.bytes={max_bytes}
replica.fetch.max.bytes={max_bytes}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# A broker that was killed may come back only when its old session has run out: the default is nine seconds.
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""


class Kafka(Part):
    name: ClassVar[str] = "kafka"
    label: ClassVar[str] = "Kafka"
    stop_seconds: ClassVar[float] = 30.0

    @property
    def address(self) -> str:
        return self.settings.kafka_bootstrap

    @property
    def external(self) -> bool:
        return self.settings.kafka.bootstrap is not None

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        kafka = self.settings.kafka
        return (HOST, kafka.port, "kafka.port"), (HOST, kafka.controller_port, "kafka.controller_port")

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "kafka.out"  # what the JVM says; the broker's own log is kafka.log

    @property
    def data(self) -> Path:
        return self.home / "kafka"

    @property
    def config(self) -> Path:
        return self.home / "run" / "kafka.properties"

    def check(self) -> None:
        find_java()
        jars_folder("kafka")
        super().check()
        self._refuse_newer_data()

    def prepare(self) -> None:
        super().prepare()
        logs = LOG4J.format(logs=self.home / "logs")
        (self.home / "run" / "kafka-log4j2.yaml").write_text(logs, encoding="utf-8")
        self._write_config(self.data)
        if not (self.data / VERSION_FILE).exists():
            self._format()
        (self.data / VERSION_FILE).write_text(installed_version() + "\n", encoding="ascii")

    def command(self) -> list[str]:
        heap = self.settings.kafka.heap
        return [find_java(), f"-Xmx{heap}", f"-Xms{heap}", *self._java(), "kafka.Kafka", str(self.config)]

    def probe(self, pid: int | None) -> None:
        from strom.streams.admin import topic_names

        try:
            if (
                pid is not None
            ):  # a refused connection is told at once, the client library would try for seconds
                socket.create_connection((HOST, self.settings.kafka.port), timeout=PROBE_SECONDS).close()
            topic_names(self.settings, timeout=PROBE_SECONDS)
        except (OSError, StromError) as error:
            raise NotReadyError(str(error)) from error

    def settle(self) -> None:
        from strom.streams.admin import ensure_contract_topics

        ensure_contract_topics(self.settings)

    def _java(self) -> list[str]:
        return [
            f"-Dlog4j2.configurationFile={self.home / 'run' / 'kafka-log4j2.yaml'}",
            "-cp",
            f"{jars_folder('kafka')}/*",
        ]

    def _write_config(self, data: Path) -> None:
        kafka = self.settings.kafka
        text = PROPERTIES.format(
            host=HOST,
            port=kafka.port,
            controller_port=kafka.controller_port,
            partitions=kafka.partitions,
            data=data,
            max_bytes=MAX_MESSAGE_BYTES,
        )
        self.config.write_text(text, encoding="utf-8")

    def _format(self) -> None:
        """Kafka's own steps, in a folder beside: an interruption leaves nothing half-formatted behind."""
        fresh = self.data.with_name("kafka.new")
        shutil.rmtree(fresh, ignore_errors=True)
        self._write_config(fresh)
        cluster = self._storage_tool("random-uuid").strip()
        self._storage_tool("format", "--standalone", "-t", cluster, "-c", str(self.config))
        (fresh / VERSION_FILE).write_text(installed_version() + "\n", encoding="ascii")
        if self.data.exists():
            self.data.rmdir()  # an empty one; anything else is not ours to replace
        fresh.rename(self.data)
        self._write_config(self.data)

    def _storage_tool(self, *arguments: str) -> str:
        quick = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [find_java(), *quick, *self._java(), "kafka.tools.StorageTool", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise StromError(
                f"Kafka could not prepare {self.data}: {said[-1] if said else 'no reason given'}."
            )
        return done.stdout

    def _refuse_newer_data(self) -> None:
        marker = self.data / VERSION_FILE
        if marker.exists():
            wrote, here = marker.read_text(encoding="ascii").strip(), installed_version()
            if _numbers(wrote) > _numbers(here):
                raise StromError(
                    f"{self.data} was written by Kafka {wrote}, which {here} cannot read: use the Strom that "
                    "wrote it, or choose another home (STROM_HOME or --home)."
                )
        elif self.data.exists() and any(self.data.iterdir()):
            raise StromError(
                f"{self.data} holds files that are not from Kafka: move them away or choose another home."
            )


def installed_version() -> str:
    """The version of the broker's jar, as `make setup` fetched it."""
    jar = next(iter(jars_folder("kafka").glob("kafka_2.13-*.jar")), None)
    found = re.search(r"-([\d.]+)\.jar$", jar.name) if jar else None
    if found is None:
        raise StromError("The Kafka broker's jar is missing: run `make setup` to fetch it.")
    return found.group(1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
