"""The configuration files of an embedded broker, written anew at every start; knows no process."""

from dataclasses import dataclass
from pathlib import Path

from strom.settings import SAFE_COPIES, Settings
from strom.settings.servers import BROKER_STEP
from strom.streams.topics import MAX_MESSAGE_BYTES

HOST = "127.0.0.1"

LOG4J = """\
Configuration:
  status: warn
  Appenders:
    RollingFile:
      name: file
      fileName: "{logs}/{name}.log"
      filePattern: "{logs}/{name}.%i.log"
      PatternLayout: {{pattern: "%d %p %m (%c)%n"}}
      Policies: {{SizeBasedTriggeringPolicy: {{size: 10MB}}}}
      DefaultRolloverStrategy: {{max: 3}}
  Loggers:
    Root: {{level: info, AppenderRef: {{ref: file}}}}
"""

PROPERTIES = """\
# Written by Strom at every start; changes here are lost. The settings are in strom.toml, section [kafka].
process.roles=broker,controller
node.id={number}
controller.quorum.bootstrap.servers={controllers}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions={partitions}
default.replication.factor={copies}
min.insync.replicas={insync}
auto.create.topics.enable=false
message.max.bytes={max_bytes}
replica.fetch.max.bytes={max_bytes}
offsets.topic.replication.factor={copies}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr={insync}
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor={copies}
share.coordinator.state.topic.min.isr={insync}
group.initial.rebalance.delay.ms=0
# A broker that was killed may come back only when its old session has run out: the default is nine seconds.
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""


@dataclass(frozen=True)
class Node:
    """One of the embedded brokers, counted from 1."""

    settings: Settings
    number: int

    @property
    def name(self) -> str:
        return "kafka" if self.number == 1 else f"kafka-{self.number}"

    @property
    def port(self) -> int:
        return self.settings.kafka.port + BROKER_STEP * (self.number - 1)

    @property
    def controller_port(self) -> int:
        return self.settings.kafka.controller_port + BROKER_STEP * (self.number - 1)

    @property
    def others(self) -> list["Node"]:
        """All of the cluster, this one among them."""
        return [Node(self.settings, number) for number in range(1, self.settings.kafka.brokers + 1)]


def properties(node: Node, data: Path) -> str:
    kafka = node.settings.kafka
    copies = min(kafka.brokers, SAFE_COPIES)
    return PROPERTIES.format(
        number=node.number,
        controllers=",".join(f"{HOST}:{each.controller_port}" for each in node.others),
        host=HOST,
        port=node.port,
        controller_port=node.controller_port,
        partitions=kafka.partitions,
        copies=copies,
        insync=max(1, copies - 1),
        data=data,
        max_bytes=MAX_MESSAGE_BYTES,
    )
