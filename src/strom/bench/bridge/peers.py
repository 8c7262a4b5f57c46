"""Other programs that carry MQTT to Kafka, told to do what the bridge does: where they are on the PATH."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from strom.bench.bridge.arrivals import raw_counter
from strom.bench.bridge.carriers import Carrier, Running, child
from strom.settings import Settings
from strom.streams import topics

# Acknowledged to MQTT when Kafka's replicas have it, lz4, the MQTT topic as the key; of several sizes of batches those
# that each was fastest with.
TELEGRAF = """\
[agent]
  omit_hostname = true
  flush_interval = "50ms"
  flush_jitter = "0s"
  metric_batch_size = 5000
  metric_buffer_limit = 100000
[[inputs.mqtt_consumer]]
  servers = ["tcp://{mqtt}"]
  topics = ["{topic}", "{topic}/+"]
  client_id = "{topic}"
  persistent_session = true
  qos = {qos}
  max_undelivered_messages = 10000
  data_format = "value"
  data_type = "string"
[[outputs.kafka]]
  brokers = ["{kafka}"]
  topic = "{raw}"
  routing_tag = "topic"
  required_acks = -1
  idempotent_writes = true
  compression_codec = 3
  data_format = "template"
  template = '{{{{ .Field "value" }}}}'
"""

BENTHOS = """\
input:
  mqtt:
    urls: ["tcp://{mqtt}"]
    topics: ["{topic}", "{topic}/+"]
    client_id: "{topic}"
    clean_session: false
    qos: {qos}
output:
  kafka_franz:
    seed_brokers: ["{kafka}"]
    topic: "{raw}"
    key: '${{! metadata("mqtt_topic") }}'
    compression: lz4
    idempotent_write: true
    max_in_flight: 10
    batching:
      count: 1000
      period: 5ms
"""


@dataclass(frozen=True)
class Peer(Carrier):
    """`ask` is how much faster than it the bridge is asked to be."""

    name: str
    ask: float
    command: tuple[str, ...]  # program and words; the configuration's path follows
    config: str

    @property
    def program(self) -> str | None:
        return shutil.which(self.command[0])

    @contextmanager
    def running(self, settings: Settings, topic: str, qos: int) -> Iterator[Running]:
        host, port = settings.mqtt_address
        path = settings.home / f"{topic}.conf"
        path.write_text(
            self.config.format(
                mqtt=f"{host}:{port}",
                kafka=settings.kafka_bootstrap,
                topic=topic,
                raw=topics.RAW,
                qos=qos,
            ),
            encoding="utf-8",
        )
        with child([*self.command, str(path)], settings.home / f"{topic}.log") as pid:
            yield Running(pid, raw_counter(settings))


PEERS = (
    Peer("Telegraf", 1.0, ("telegraf", "--config"), TELEGRAF),
    Peer("Benthos", 1.5, ("benthos", "-c"), BENTHOS),
    Peer("Bento", 1.5, ("bento", "-c"), BENTHOS),
    Peer("Redpanda Connect", 1.5, ("redpanda-connect", "run"), BENTHOS),
)


def peers_here() -> list[Peer]:
    return [peer for peer in PEERS if peer.program is not None]
