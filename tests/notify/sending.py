"""Runs senders of alerts as users do, and writes alerts into the topic as the pipeline does."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strom.settings import AlertsSettings, Settings
from strom.stack.ready import announced_pid
from strom.streams.producer import open_producer
from strom.streams.topics import ALERTS
from tests.notify.receivers import SECONDS, until


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


@dataclass
class RunningSender:
    settings: Settings
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def await_log(self, words: str) -> None:
        until(lambda: words in self.log, f"the sender logs {words!r}")

    def await_ready(self) -> None:
        until(
            lambda: announced_pid(self.settings.home, "alerts") == self.process.pid,
            f"the sender is ready: {self.log}",
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(SECONDS)


def start_sender(settings: Settings) -> RunningSender:
    settings.home.mkdir(parents=True, exist_ok=True)
    path = settings.home / "alerts.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    with path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "strom", "alerts", "send"],
            env=environment | settings.as_environment(),
            stderr=log,
        )
    return RunningSender(settings, process, path)


@contextmanager
def sending(settings: Settings) -> Iterator[RunningSender]:
    """A sender that is ready; asked to stop at the end unless the test has ended it."""
    sender = start_sender(settings)
    try:
        sender.await_ready()
        yield sender
    finally:
        if sender.process.poll() is None:
            sender.stop()
