"""The embedded Kafka: one broker or several on loopback, each its own controller (KRaft), by Kafka's own steps."""

import socket
from pathlib import Path
from typing import ClassVar

from strom.errors import StromError
from strom.settings import Settings
from strom.stack import kafka_config as config
from strom.stack import kafka_storage as storage
from strom.stack.java import find_java, jars_folder
from strom.stack.part import NotReadyError, Part

PROBE_SECONDS = 3.0
# The last of several brokers can no longer agree with the others on its leaving and would wait for minutes;
# a broker that is killed loses nothing that it has confirmed.
STOP_TOGETHER_SECONDS = 10.0


class Kafka(Part):
    name: str = "kafka"
    label: str = "Kafka"
    group: ClassVar[str | None] = "kafka"
    stop_seconds: float = 30.0

    def __init__(self, settings: Settings, number: int = 1) -> None:
        super().__init__(settings)
        self.node = config.Node(settings, number)
        self.name = self.node.name
        if settings.kafka.brokers > 1 and not self.external:
            self.label = f"Kafka broker {number}"
            self.stop_seconds = STOP_TOGETHER_SECONDS

    @classmethod
    def all_of(cls, settings: Settings) -> list[Part]:
        count = 1 if settings.kafka.bootstrap is not None else settings.kafka.brokers
        return [cls(settings, number) for number in range(1, count + 1)]

    @property
    def address(self) -> str:
        """The first one's is that of the whole cluster."""
        return self.settings.kafka_bootstrap if self.node.number == 1 else f"{config.HOST}:{self.node.port}"

    @property
    def external(self) -> bool:
        return self.settings.kafka.bootstrap is not None

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        return (
            (config.HOST, self.node.port, "kafka.port"),
            (config.HOST, self.node.controller_port, "kafka.controller_port"),
        )

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / f"{self.name}.out"  # what the JVM says; the broker's own log is kafka.log

    @property
    def data(self) -> Path:
        return self.home / self.name

    @property
    def config(self) -> Path:
        return self.home / "run" / f"{self.name}.properties"

    def check(self) -> None:
        find_java()
        jars_folder("kafka")
        super().check()
        storage.refuse_unusable(self.data, self.settings.kafka.brokers)

    def prepare(self) -> None:
        super().prepare()
        logs = config.LOG4J.format(logs=self.home / "logs", name=self.name)
        self._log4j.write_text(logs, encoding="utf-8")
        self._write_config(self.data)
        if not (self.data / storage.VERSION_FILE).exists():
            storage.format_data(
                self.node, self.data, self.config, self._write_config, storage.java_arguments(self._log4j)
            )
        storage.note_version(self.data)

    def command(self) -> list[str]:
        kafka = self.settings.kafka
        options = [f"-Xmx{kafka.heap}", f"-Xms{kafka.heap}", *(kafka.java_options or "").split()]
        java = storage.java_arguments(self._log4j)
        return [find_java(), *options, *java, "kafka.Kafka", str(self.config)]

    def probe(self, pid: int | None) -> None:
        from strom.streams.admin import broker_ids, topic_names

        try:
            if pid is None:
                topic_names(self.settings, timeout=PROBE_SECONDS)
                return
            # A refused connection is told at once; the client library would try for seconds.
            socket.create_connection((config.HOST, self.node.port), timeout=PROBE_SECONDS).close()
            if self.node.number not in broker_ids(self._this_one, timeout=PROBE_SECONDS):
                raise NotReadyError("it has not joined the cluster")
        except (OSError, StromError) as error:
            raise NotReadyError(str(error)) from error

    def settle(self) -> None:
        from strom.streams.admin import ensure_contract_topics

        if self.node.number == 1:
            ensure_contract_topics(self.settings)

    @property
    def _this_one(self) -> Settings:
        kafka = self.settings.kafka.model_copy(update={"bootstrap": f"{config.HOST}:{self.node.port}"})
        return self.settings.model_copy(update={"kafka": kafka})

    @property
    def _log4j(self) -> Path:
        return self.home / "run" / f"{self.name}-log4j2.yaml"

    def _write_config(self, data: Path) -> None:
        self.config.write_text(config.properties(self.node, data), encoding="utf-8")
