"""The settings: every section with its defaults and limits; one frozen object."""

import os
from pathlib import Path
from typing import Any

from pydantic import Field

from strom.settings.outlets import (
    AlertMqttSettings,
    AlertsSettings,
    MailSettings,
    OutletSettings,
    WebhookSettings,
)
from strom.settings.section import Section

ENV_PREFIX = "STROM_"


class KafkaSettings(Section):
    bootstrap: str | None = Field(
        None, description="Addresses of an existing Kafka, host:port,…; empty starts the embedded one."
    )
    port: int = Field(9092, description="Port of the embedded broker, on loopback.")
    controller_port: int = Field(9093, description="Port of the embedded broker's controller, on loopback.")
    heap: str = Field("512m", description="Java heap of the embedded broker.")
    partitions: int = Field(4, ge=1, description="Partitions of the topics that Strom creates.")
    replication: int = Field(
        1, ge=1, description="Copies of each partition of the topics that Strom creates."
    )
    retention_hours: int = Field(
        168, ge=1, description="How long the raw, readings, alerts and dead-letter topics keep records."
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


class PostgresSettings(Section):
    url: str | None = Field(
        None, description="Connection URL of an existing Postgres; empty starts the embedded one."
    )
    port: int = Field(15432, description="Port of the embedded Postgres, on loopback.")


class SparkSettings(Section):
    master: str = Field(
        "local[8]", description="Spark master; local[N] needs more threads than the raw topic has partitions."
    )
    driver_memory: str = Field("2g", description="Java heap of the Spark driver.")


class PipelineSettings(Section):
    lake: str | None = Field(
        None, description="Root of the Delta lake, a path or URL; empty is `lake` in the home folder."
    )
    checkpoints: str | None = Field(
        None, description="Root of the checkpoints, a path or URL; empty is `checkpoints` in the home folder."
    )
    realtime_batch: str = Field(
        "5 minutes",
        description="How long a batch of the real-time query lasts: what a restart may repeat. Between two it pauses for a second.",
    )
    trigger_seconds: float = Field(
        5.0, gt=0, description="Pause between micro-batches of the queries on `readings`."
    )
    max_batch: int = Field(200_000, ge=1, description="Readings taken into one micro-batch at most.")


class PageSettings(Section):
    host: str = Field("127.0.0.1", description="Address the page and API listen on.")
    port: int = Field(8080, description="Port of the page and API.")
    timezone: str = Field("Europe/Vienna", description="Time zone of the local days that people see.")


class RuleSettings(Section):
    limit_w: int = Field(43_470, gt=0, description="What a connection can carry (3 × 63 A × 230 V).")
    noise_wh: float = Field(10, ge=0, description="A counter falling by at most this is noise, not a reset.")
    exact_seconds: int = Field(
        60, ge=1, description="Neighbouring readings at most this far apart make a slot border exact."
    )
    linear_seconds: int = Field(
        7200, ge=1, description="Neighbouring readings less than this far apart are joined by a line."
    )
    silent_pushes: int = Field(
        3, ge=1, description="Push intervals without a message after which a meter is silent."
    )
    silent_seconds: int = Field(
        90, ge=1, description="The least time without a message after which a meter is silent."
    )
    voltage_low_v: float = Field(207, description="Ten-minute means below this raise a voltage alert.")
    voltage_high_v: float = Field(253, description="Ten-minute means above this raise a voltage alert.")
    voltage_severe_low_v: float = Field(195.5, description="Ten-minute means below this are severe.")


class Settings(Section):
    home: Path = Field(
        Path(".strom"), description="Folder of data, logs and pid files; deleting it deletes everything."
    )
    kafka: KafkaSettings = KafkaSettings()
    mqtt: MqttSettings = MqttSettings()
    bridge: BridgeSettings = BridgeSettings()
    postgres: PostgresSettings = PostgresSettings()
    spark: SparkSettings = SparkSettings()
    pipeline: PipelineSettings = PipelineSettings()
    page: PageSettings = PageSettings()
    rules: RuleSettings = RuleSettings()
    alerts: AlertsSettings = AlertsSettings()
    alerts_webhook: WebhookSettings = WebhookSettings()
    alerts_mqtt: AlertMqttSettings = AlertMqttSettings()
    alerts_mail: MailSettings = MailSettings()

    @property
    def sends_alerts(self) -> bool:
        """Whether any outlet of alerts is set."""
        outlets: tuple[OutletSettings, ...] = (self.alerts_webhook, self.alerts_mqtt, self.alerts_mail)
        return any(outlet.is_set for outlet in outlets)

    @property
    def kafka_bootstrap(self) -> str:
        return self.kafka.bootstrap or f"127.0.0.1:{self.kafka.port}"

    @property
    def mqtt_address(self) -> tuple[str, int]:
        if self.mqtt.address is None:
            return "127.0.0.1", self.mqtt.port
        host, _, port = self.mqtt.address.rpartition(":")
        return host, int(port)

    @property
    def postgres_url(self) -> str:
        return self.postgres.url or f"postgresql://strom@127.0.0.1:{self.postgres.port}/strom"

    @property
    def lake_root(self) -> str:
        return self.pipeline.lake or str(self.home.absolute() / "lake")

    @property
    def checkpoint_root(self) -> str:
        return self.pipeline.checkpoints or str(self.home.absolute() / "checkpoints")

    def as_environment(self) -> dict[str, str]:
        """The settings that were given anywhere as `STROM_…` variables, for Strom's own child processes."""
        changed = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        names: dict[str, str] = {}
        for key, value in changed.items():
            if isinstance(value, dict):
                names |= {
                    f"{ENV_PREFIX}{key}_{name}".upper(): _env_text(item) for name, item in value.items()
                }
            else:
                names[f"{ENV_PREFIX}{key}".upper()] = _env_text(value)
        return names

    def child_environment(self) -> dict[str, str]:
        """The environment of Strom's own child processes: this one's, with exactly these settings."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
        return inherited | self.as_environment() | {f"{ENV_PREFIX}HOME": str(self.home.absolute())}


def _env_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
