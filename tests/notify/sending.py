"""Runs senders of alerts as users do, and writes alerts into the topic as the pipeline does."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from strom.settings import AlertsSettings, Settings
from strom.streams.producer import open_producer
from strom.streams.topics import ALERTS
from tests.notify.receivers import SECONDS
from tests.running import Running, running, start


def sender_settings(servers: Settings, home: Path, name: str, **outlets: dict[str, Any]) -> Settings:
    """Settings of a sender of its own at these servers; `webhook={"url": …}` sets an outlet."""
    host, port = servers.mqtt_address
    sections = {f"alerts_{outlet}": values for outlet, values in outlets.items()}
    return Settings.model_validate(
        {
            "home": home,
            "kafka": {"bootstrap": servers.kafka_bootstrap},
            "mqtt": {"address": f"{host}:{port}"},
            "postgres": {"url": servers.postgres_url},
            "alerts": AlertsSettings(sender=name),
        }
        | sections
    )


def tell(settings: Settings, *records: dict[str, Any] | bytes) -> None:
    """Into the topic, keyed by meter; bytes as they are."""
    producer = open_producer(settings, "strom-test")
    for record in records:
        value = record if isinstance(record, bytes) else json.dumps(record).encode()
        key = b"x" if isinstance(record, bytes) else str(record["meter"]).encode()
        producer.produce(ALERTS, value, key)
    assert producer.flush(SECONDS) == 0


def start_sender(settings: Settings) -> Running:
    return start(settings, "alerts", "alerts", "send")


def sending(settings: Settings) -> AbstractContextManager[Running]:
    """A sender that is ready; asked to stop at the end unless the test has ended it."""
    return running(settings, "alerts", "alerts", "send")
