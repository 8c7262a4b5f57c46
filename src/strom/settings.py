"""All settings in one frozen object, and the only reader of the environment.

`strom.toml` in the working folder, then `STROM_…` variables, then flags: the later wins. Every setting has its
default and its meaning here and nowhere else; `docs/settings.md` is checked against this file.
"""

import difflib
import os
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from strom.errors import StromError

ENV_PREFIX = "STROM_"
FILE_NAME = "strom.toml"


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
        "1 minute", description="How long a batch of the real-time query lasts: what a restart may repeat."
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


def java_home() -> Path | None:
    """Where JAVA_HOME points, if it is set."""
    folder = os.environ.get("JAVA_HOME")
    return Path(folder) if folder else None


def load_settings(
    flags: dict[str, Any] | None = None,
    *,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read file, environment and flags (`{"kafka.bootstrap": …}`, None is 'not given'); refuse what is wrong by its name."""
    environ = dict(os.environ) if environment is None else environment
    tree: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for dotted, value, origin in [
        *_from_file((folder or Path.cwd()) / FILE_NAME),
        *_from_environment(environ),
        *((name, value, "flag") for name, value in (flags or {}).items() if value is not None),
    ]:
        _put(tree, dotted, value)
        origins[dotted] = origin
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise StromError(_sentence(error, origins)) from None
    _check_address(settings)
    return settings


def has_display() -> bool:
    """Whether a browser could show a page here."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


class Described(NamedTuple):
    """One setting, as people look it up."""

    name: str  # section.name
    value: Any
    meaning: str


def described(settings: Settings) -> list[Described]:
    """Every setting with its value and what it is for, in the order of their declaration. Passwords stay hidden."""
    found: list[Described] = []
    for key, field in Settings.model_fields.items():
        value = getattr(settings, key)
        if isinstance(value, Section):
            found += [
                Described(f"{key}.{name}", _shown(name, getattr(value, name)), sub.description or "")
                for name, sub in type(value).model_fields.items()
            ]
        else:
            found.append(Described(key, _shown(key, value), field.description or ""))
    return found


def setting_names() -> list[str]:
    return [each.name for each in described(Settings())]


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return "…" if name == "password" and value is not None else value


def _from_file(path: Path) -> list[tuple[str, Any, str]]:
    if not path.exists():
        return []
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StromError(f"{path.name} is not valid TOML: {error}; correct that line.") from None
    found: list[tuple[str, Any, str]] = []
    for key, value in data.items():
        if isinstance(value, dict):
            found += [(f"{key}.{name}", item, path.name) for name, item in value.items()]
        else:
            found.append((key, value, path.name))
    return found


def _from_environment(environ: dict[str, str]) -> list[tuple[str, Any, str]]:
    by_variable = {f"{ENV_PREFIX}{name.replace('.', '_')}".upper(): name for name in setting_names()}
    found: list[tuple[str, Any, str]] = []
    for variable in sorted(name for name in environ if name.startswith(ENV_PREFIX)):
        if variable not in by_variable:
            raise StromError(f"{variable} is not a setting of Strom{_closest(variable, by_variable)}.")
        if environ[variable] != "":
            found.append((by_variable[variable], environ[variable], variable))
    return found


def _put(tree: dict[str, Any], dotted: str, value: Any) -> None:
    section, _, name = dotted.rpartition(".")
    if section:
        branch = tree.setdefault(section, {})
        if not isinstance(branch, dict):
            raise StromError(
                f"{section} is a section of settings; write [{section}] with its settings below."
            )
        branch[name] = value
    else:
        tree[name] = value


def _sentence(error: ValidationError, origins: dict[str, str]) -> str:
    first = error.errors()[0]
    dotted = ".".join(str(part) for part in first["loc"])
    origin = origins.get(dotted, FILE_NAME)
    where = dotted if origin in (FILE_NAME, "flag") else origin
    prefix = f"{FILE_NAME}: " if origin == FILE_NAME else ""
    if first["type"] == "extra_forbidden":
        return f"{prefix}{where} is not a setting of Strom{_closest(dotted, setting_names())}."
    if first["type"] == "model_type":
        return f"{prefix}{where} is a section; write [{where}] and its settings below it."
    return f"{prefix}{where} is {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}."


def _closest(name: str, known: Iterable[str]) -> str:
    match = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {match[0]}?"[:-1] if match else "; `strom settings` lists them"


def _check_address(settings: Settings) -> None:
    address = settings.mqtt.address
    if address is not None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise StromError(
                f"mqtt.address is {address!r}: write it as host:port, for example 192.168.1.10:1883."
            )


def _env_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
