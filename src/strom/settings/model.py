"""All settings as one frozen object: the sections beside this file and what follows from them together."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import Field

from strom.durations import DURATION_PATTERN
from strom.settings.adapters import AdapterSettings, PollSettings
from strom.settings.gateway import GatewaySettings, UserSettings
from strom.settings.lake import LATE_DAYS, LATE_MARGIN_DAYS, LakeSettings
from strom.settings.outlets import (
    AlertMqttSettings,
    AlertsSettings,
    MailSettings,
    OutletSettings,
    WebhookSettings,
)
from strom.settings.rules import GroupSettings, RuleSettings
from strom.settings.section import Section
from strom.settings.sending import AreaSettings, PartsSettings
from strom.settings.servers import (
    BROKER_STEP,
    DEFAULT_SCHEMA,
    SAFE_COPIES,
    BridgeSettings,
    KafkaSettings,
    MqttSettings,
    PostgresSettings,
    shortest_days,
)
from strom.settings.spark import EMBEDDED_CLUSTER, SparkSettings

ENV_PREFIX = "STROM_"
MS_PER_DAY = 86_400_000


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
    side_seconds: float = Field(
        1.0,
        gt=0,
        description="Pause between micro-batches of the side query: dialects that native columns cannot read, and parts of large messages.",
    )
    max_batch: int = Field(
        1_000_000,
        ge=1,
        description="Readings taken into one micro-batch at most: large ones catch up sooner, small ones show it sooner.",
    )
    warm_up: bool = Field(
        True,
        description="Compile the stages' code on synthetic records before the pipeline is ready: it starts later and keeps up from then on.",
    )
    late_days: int | None = Field(
        None,
        ge=1,
        description="A reading that arrives more days than this after its time is set aside; empty: 60 days, or two days less than `lake.keep_days` or `postgres.keep_months` if that is less.",
    )


class SqlSettings(Section):
    queries: Path | None = Field(
        None,
        description="Folder of the queries that run with the pipeline; empty is `queries` in the working folder, if it is there.",
    )
    late: str = Field(
        "10m",
        pattern=DURATION_PATTERN,
        description="How late a reading may come and still count in a live query.",
    )
    connect: bool = Field(
        True,
        description="Whether the running pipeline answers `strom sql` and other programs of yours by Spark Connect, on loopback with a token.",
    )
    connect_port: int = Field(
        15002,
        ge=1024,
        le=65535,
        description="Port of Spark Connect; where it is in use, the next one that is free.",
    )


class PageSettings(Section):
    host: str = Field("127.0.0.1", description="Address the page and API listen on.")
    port: int = Field(8080, description="Port of the page and API.")
    timezone: str = Field("Europe/Vienna", description="Time zone of the local days that people see.")


class Settings(Section):
    home: Path = Field(
        Path(".strom"), description="Folder of data, logs and pid files; deleting it deletes everything."
    )
    kafka: KafkaSettings = KafkaSettings()
    parts: PartsSettings = PartsSettings()
    areas: dict[str, AreaSettings] = Field(
        {},
        description='Meters that share a partition with `kafka.partitioner = "area"`: `[areas.NAME]` with `meters`.',
    )
    mqtt: MqttSettings = MqttSettings()
    bridge: BridgeSettings = BridgeSettings()
    poll: PollSettings = PollSettings()
    adapters: dict[str, AdapterSettings] = Field(
        {},
        description="Adapters that are asked: `[adapters.NAME]` with `by`, `address` and what else its way in needs.",
    )
    postgres: PostgresSettings = PostgresSettings()
    spark: SparkSettings = SparkSettings()
    pipeline: PipelineSettings = PipelineSettings()
    lake: LakeSettings = LakeSettings()
    sql: SqlSettings = SqlSettings()
    page: PageSettings = PageSettings()
    gateway: GatewaySettings = GatewaySettings()
    users: dict[str, UserSettings] = Field(
        {},
        description="Who may use the gateway: `[users.NAME]` with `password`, `topics` and `rights`; `strom users add` writes it.",
    )
    rules: RuleSettings = RuleSettings()
    groups: dict[str, GroupSettings] = Field(
        {},
        description="Rules that differ for some meters: `[groups.NAME]` with `meters` and any of the rules.",
    )
    dialects: dict[str, str] = Field(
        {},
        description="What meters speak that are no adapters: `[dialects]` with MQTT topic filters and the dialect of each; the first that matches counts.",
    )
    tasmota_names: dict[str, str] = Field(
        {},
        description="Names in your own Tasmota scripts and what they are, such as `Bezug = 'import_wh kWh'`.",
    )
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
        return self.kafka.bootstrap or ",".join(map(self.broker_address, range(self.kafka.brokers)))

    def broker_address(self, index: int) -> str:
        """Of one of the embedded brokers, counted from 0."""
        return f"127.0.0.1:{self.kafka.port + BROKER_STEP * index}"

    @property
    def kafka_replication(self) -> int:
        if self.kafka.replication is not None:
            return self.kafka.replication
        return 1 if self.kafka.bootstrap is not None else min(self.kafka.brokers, SAFE_COPIES)

    @property
    def spark_master(self) -> str:
        """As Spark is told."""
        return self.spark_cluster if self.spark.master == EMBEDDED_CLUSTER else self.spark.master

    @property
    def spark_cluster(self) -> str:
        """The embedded cluster's master, or the one that its workers join."""
        return self.spark.join or f"spark://{self.spark.host}:{self.spark.port}"

    @property
    def mqtt_address(self) -> tuple[str, int]:
        if self.mqtt.address is None:
            return "127.0.0.1", self.mqtt.port
        host, _, port = self.mqtt.address.rpartition(":")
        return host, int(port)

    @property
    def postgres_url(self) -> str:
        """With the schema in it, unless that is the server's own default."""
        url = self.postgres.url or f"postgresql://strom@127.0.0.1:{self.postgres.port}/strom"
        return (
            url if self.postgres.schema_name == DEFAULT_SCHEMA else _in_schema(url, self.postgres.schema_name)
        )

    def with_schema(self, name: str) -> "Settings":
        """The same with the tables in another schema."""
        return self.model_copy(update={"postgres": self.postgres.model_copy(update={"schema_name": name})})

    @property
    def late_ms(self) -> int:
        """A reading that arrives longer than this after its time is too late for the tables."""
        days = self.pipeline.late_days
        if days is None:
            kept = self.kept_days
            days = LATE_DAYS if kept is None else min(LATE_DAYS, kept - LATE_MARGIN_DAYS)
        return days * MS_PER_DAY

    @property
    def kept_days(self) -> int | None:
        """How far back lake and tables both reach on any day; None where both keep everything."""
        months = self.postgres.keep_months
        tables = None if months is None else shortest_days(months)
        return min((days for days in (self.lake.keep_days, tables) if days is not None), default=None)

    @property
    def lake_root(self) -> str:
        return self.pipeline.lake or str(self.home.absolute() / "lake")

    @property
    def checkpoint_root(self) -> str:
        return self.pipeline.checkpoints or str(self.home.absolute() / "checkpoints")

    @property
    def query_folder(self) -> Path | None:
        """Where the queries of the pipeline are; None where there are none."""
        usual = Path("queries")
        return self.sql.queries or (usual if usual.is_dir() else None)

    @property
    def query_states(self) -> Path:
        """The file in which the pipeline tells how those queries are."""
        return self.home / "run" / "queries.json"

    @property
    def connect_url(self) -> Path:
        """The file in which a running pipeline tells where it answers by Spark Connect, with the token."""
        return self.home / "run" / "connect.url"

    def as_environment(self) -> dict[str, str]:
        """The settings that were given anywhere as `STROM_…` variables, for Strom's own child processes."""
        changed = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        names: dict[str, str] = {}
        for key, value in changed.items():
            if isinstance(getattr(self, key), Section):
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


def _in_schema(url: str, schema: str) -> str:
    """The connection URL with a search path; whoever connects by it sees these tables and no others."""
    path = f"-c search_path={schema}"
    if "://" not in url:
        return f"{url} options='{path}'"
    return f"{url}{'&' if '?' in url else '?'}options={quote(path)}"


def _env_text(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
