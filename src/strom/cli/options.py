"""The flags that many verbs share, and how they become settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from strom.settings import Settings, load_settings

KafkaOption = Annotated[str | None, typer.Option("--kafka", metavar="HOST:PORT,…", help="An existing Kafka.")]
MqttOption = Annotated[
    str | None, typer.Option("--mqtt", metavar="HOST:PORT", help="An existing MQTT broker.")
]
PostgresOption = Annotated[
    str | None, typer.Option("--postgres", metavar="URL", help="An existing Postgres.")
]
SparkOption = Annotated[
    str | None,
    typer.Option(
        "--spark-master", metavar="URL", help="An existing Spark master; `cluster` is the embedded one."
    ),
]
HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Folder of data and logs; .strom if not given.")
]


def settings_from(
    *,
    kafka: str | None = None,
    mqtt: str | None = None,
    postgres: str | None = None,
    spark_master: str | None = None,
    home: Path | None = None,
    more: Mapping[str, Any] | None = None,
) -> Settings:
    """File, environment and these flags as one Settings; `more` are those that one verb alone has, by setting."""
    return load_settings(
        {
            **(more or {}),
            "kafka.bootstrap": kafka,
            "mqtt.address": mqtt,
            "postgres.url": postgres,
            "spark.master": spark_master,
            "home": home,
        }
    )
