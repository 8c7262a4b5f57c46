"""Runs gateways as users do and calls them over a real socket; reads back what is in Kafka by Strom's own reader."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from strom.settings import GatewaySettings, KafkaSettings, PasswordHash, Settings, UserSettings
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.conftest import free_ports
from tests.running import Running, running

PASSWORD = "open sesame: ä"
SECONDS = 60.0


def quick_hash(password: str) -> str:
    """One that costs next to nothing to check."""
    digest = hashlib.scrypt(password.encode(), salt=b"salt", n=2, r=1, p=1, dklen=32)
    return str(PasswordHash(2, 1, 1, b"salt", digest))


def user(**given: object) -> UserSettings:
    return UserSettings.model_validate({"password": quick_hash(PASSWORD), **given})


USERS = {
    "anna": user(),
    "pia": user(rights="produce"),
    "carl": user(rights="consume"),
    "tim": user(topics=["team-*"]),
}


def basic(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


@dataclass
class Caller:
    """One user of a running gateway."""

    process: Running
    client: httpx.Client
    others: list[httpx.Client] = field(default_factory=list)

    def as_user(self, name: str, password: str = PASSWORD) -> "Caller":
        return self._with({"Authorization": basic(name, password).decode("ascii")})

    def as_nobody(self) -> "Caller":
        return self._with({})

    def _with(self, headers: dict[str, str]) -> "Caller":
        client = httpx.Client(base_url=self.client.base_url, timeout=SECONDS, headers=headers)
        self.others.append(client)
        return Caller(self.process, client, self.others)

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.client.get(path, **given)

    def post(self, path: str, body: Any = None, **given: Any) -> httpx.Response:
        """`body` as JSON, or as it is if it is bytes."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.request(given.pop("method", "POST"), path, content=content, **given)

    def metric(self, name: str) -> float:
        lines = self.get("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"strom_gateway_{name} "))


def gateway_settings(
    kafka: Settings, home: Path, users: dict[str, UserSettings] | None = None, **gateway: object
) -> Settings:
    """Settings of a gateway of its own at this Kafka."""
    return Settings(
        home=home,
        kafka=KafkaSettings(bootstrap=kafka.kafka_bootstrap),
        gateway=GatewaySettings.model_validate({"port": free_ports(1)[0], **gateway}),
        users=USERS if users is None else users,
    )


@contextmanager
def calling(settings: Settings, name: str = "anna", broken: str | None = None) -> Iterator[Caller]:
    """A gateway that is ready; asked to stop at the end unless the test has ended it.

    `broken` names what fails in it, as long as there is a file of that name in its home.
    """
    program = ("-m", "strom") if broken is None else ("-m", "tests.ingest.gateway.broken", broken)
    with running(settings, "gateway", "gateway", program=program) as process:
        address = f"http://127.0.0.1:{settings.gateway.port}"
        with httpx.Client(base_url=address, timeout=SECONDS) as nobody:
            caller = Caller(process, nobody).as_user(name)
            try:
                yield caller
            finally:
                for client in caller.others:
                    client.close()


def records_in(settings: Settings, topic: str) -> list[Record]:
    """All that the topic holds, in the order of partitions and offsets."""
    with Records(settings, [topic], start=EARLIEST, until_end=True) as records:
        return sorted(records, key=lambda each: (each.partition, each.offset))


def strom_in(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """`strom …` in a folder with its own strom.toml; `given` is what is typed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    return subprocess.run(
        [sys.executable, "-m", "strom", *words],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
