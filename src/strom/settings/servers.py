"""Where Kafka, MQTT and Postgres are, or how they are started here."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from strom.durations import DURATION_PATTERN
from strom.settings.section import Section

DEFAULT_SCHEMA = "public"
SCHEMA_PATTERN = r"^[a-z_][a-z0-9_]{0,39}$"
BROKER_STEP = 10  # between the ports of one embedded broker and the next
SAFE_COPIES = 3  # so many survive the loss of a broker without a pause


class KafkaSettings(Section):
    bootstrap: str | None = Field(
        None, description="Addresses of an existing Kafka, host:port,…; empty starts the embedded one."
    )
    port: int = Field(9092, description="Port of the embedded broker, on loopback.")
    controller_port: int = Field(9093, description="Port of the embedded broker's controller, on loopback.")
    brokers: int = Field(
        1,
        ge=1,
        le=9,
        description="Embedded brokers, each a controller too; fixed at the first start. Each has its ports 10 above the former's.",
    )
    heap: str = Field("512m", description="Java heap of each embedded broker.")
    java_options: str | None = Field(None, description="More options for the Java of each embedded broker.")
    partitions: int = Field(
        4,
        ge=1,
        description="Partitions of the topics that Strom creates, and the least number of shards into which a pass over the lake divides the meters.",
    )
    replication: int | None = Field(
        None,
        ge=1,
        description="Copies of each partition of the topics that Strom creates; empty: one on each embedded broker, three at most.",
    )
    retention_hours: int = Field(
        168, ge=1, description="How long the raw, readings, alerts and dead-letter topics keep records."
    )
    partitioner: Literal["key", "area"] = Field(
        "key",
        description="What chooses a record's partition: its key, or the area of the meter that is its key, see `areas`.",
    )


class MqttSettings(Section):
    address: str | None = Field(
        None, description="host:port of an existing MQTT 5 broker; empty starts the embedded Mosquitto."
    )
    port: int = Field(1883, description="Port of the embedded Mosquitto.")
    bind: str = Field(
        "127.0.0.1",
        description="Address the embedded Mosquitto listens on; 0.0.0.0 lets adapters in the house reach it.",
    )
    topic: str = Field(
        "sma", description="MQTT topic of the adapters; topics one level below it are read too."
    )
    username: str | None = Field(None, description="User name at the MQTT broker.")
    password: str | None = Field(None, description="Password at the MQTT broker.")
    tls: bool = Field(False, description="Speak TLS to the MQTT broker.")
    ca_file: Path | None = Field(
        None, description="Certificate authority that signed the MQTT broker's certificate."
    )
    queue_messages: int = Field(
        0,
        ge=0,
        description="Messages that the embedded Mosquitto keeps at most for a bridge that does not take them; 0: no limit.",
    )
    queue_bytes: int = Field(0, ge=0, description="The same in bytes of payload. 0: no limit.")
    queue_drops: Literal["newest", "oldest"] = Field(
        "newest",
        description="Which messages are dropped when that limit is reached: the newest, by Mosquitto; or the oldest, by the bridge as long as it runs.",
    )
    queue_qos0: bool = Field(
        True, description="Whether it keeps messages of QoS 0 too while the bridge is not connected."
    )


class BridgeSettings(Section):
    client_id: str = Field(
        "strom-bridge",
        description="The bridge's MQTT client id: fixed, so that a restart gets what was queued.",
    )
    share: str | None = Field(
        None, description="Name of a shared subscription; bridges with the same name share the load."
    )
    inflight: int = Field(
        2000, ge=1, le=65535, description="Messages held at most until Kafka has confirmed them."
    )
    inflight_bytes: int = Field(
        8 * 1024 * 1024, ge=1024, description="The same in bytes of payload; they take twice as much memory."
    )
    keep_alive: int = Field(
        30,
        ge=1,
        le=65535,
        description="A broker that says nothing for half as many seconds is asked whether it is still there.",
    )
    compression: Literal["lz4", "zstd", "gzip", "snappy", "none"] = Field(
        "lz4", description="How batches to Kafka are compressed: lz4, zstd, gzip, snappy or none."
    )
    linger_ms: int = Field(
        5,
        ge=0,
        le=60_000,
        description="How long a batch to Kafka may grow; longer ones compress better, for thin lines.",
    )
    every: str | None = Field(
        None,
        pattern=DURATION_PATTERN,
        description="Thins: of each meter only one message of a kind in so long goes on, as in 15s; at most 60s.",
    )
    on_change: bool = Field(
        False,
        description="Thins: of each meter only messages whose registers have changed go on, and one a minute.",
    )
    metrics_port: int | None = Field(
        None, description="Port of the bridge's own page of metrics for Prometheus; empty is none."
    )
    metrics_host: str = Field("127.0.0.1", description="Address that page listens on.")


def shortest_days(months: int) -> int:
    """No run of so many whole months has fewer days: February is the only one with less than 30."""
    return months * 30 - 2


class PostgresSettings(Section):
    url: str | None = Field(
        None, description="Connection URL of an existing Postgres; empty starts the embedded one."
    )
    port: int = Field(15432, description="Port of the embedded Postgres, on loopback.")
    schema_name: str = Field(
        DEFAULT_SCHEMA,
        pattern=SCHEMA_PATTERN,
        description="Schema that holds the tables; made if it is missing.",
    )
    keep_months: int | None = Field(
        None,
        ge=1,
        description="Whole months the tables keep before the present one; the running pipeline removes older ones. Empty keeps all.",
    )
