"""The embedded Mosquitto: set up to keep what was published until the bridge has taken it."""

import contextlib
import os
import pwd
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from strom.stack.autosave import save_often
from strom.stack.greeting import greet
from strom.stack.owner import give
from strom.stack.part import NotReadyError, Part
from strom.stack.programs import find_mosquitto, find_mosquitto_passwd

PAYLOAD_LIMIT = 1024 * 1024  # an adapter sends a few hundred bytes; more than this is refused at the door
COUNTS_SECONDS = 5  # between two tellings of what waits and was dropped

CONFIG = """\
# Written by Strom at every start; changes here are lost. The settings are in strom.toml, section [mqtt].
user {user}
listener {port} {bind}
{access}
log_dest stdout
log_timestamp_format %Y-%m-%dT%H:%M:%S
connection_messages false
set_tcp_nodelay true
persistence true
persistence_location {data}/
# The supervisor asks for a save several times a second; this is only for the case that it does not.
autosave_interval 60
# The bridge's session and what waits for it never expire. 0 is no limit; over one, the newest are dropped and counted.
max_queued_messages {queue_messages}
max_queued_bytes {queue_bytes}
queue_qos0_messages {queue_qos0}
sys_interval {counts}
# Unlimited here: an MQTT 5 client says by its receive maximum how much it takes before it acknowledges.
max_inflight_messages 0
message_size_limit {limit}
"""


class Mosquitto(Part):
    name: str = "mqtt"
    label: str = "Mosquitto"
    user: ClassVar[str | None] = "mosquitto"

    @property
    def address(self) -> str:
        host, port = self.settings.mqtt_address
        return f"{host}:{port}"

    @property
    def external(self) -> bool:
        return self.settings.mqtt.address is not None

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        return ((self.settings.mqtt.bind, self.settings.mqtt.port, "mqtt.port"),)

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "mosquitto.log"

    @property
    def data(self) -> Path:
        return self.home / "mosquitto"

    def check(self) -> None:
        find_mosquitto()
        super().check()

    def prepare(self) -> None:
        super().prepare()
        self.data.mkdir(parents=True, exist_ok=True)
        mqtt = self.settings.mqtt
        config = CONFIG.format(
            user=_user(),
            port=mqtt.port,
            bind=mqtt.bind,
            access=self._access(),
            data=self.data,
            queue_messages=mqtt.queue_messages,
            queue_bytes=mqtt.queue_bytes,
            queue_qos0=str(mqtt.queue_qos0).lower(),
            counts=COUNTS_SECONDS,
            limit=PAYLOAD_LIMIT,
        )
        (self.data / "mosquitto.conf").write_text(config, encoding="utf-8")
        give(self.data, self.user)

    def command(self) -> list[str]:
        return [find_mosquitto(), "-c", str(self.data / "mosquitto.conf")]

    def probe(self, pid: int | None) -> None:
        try:
            greet(self.settings)
        except OSError as error:
            raise NotReadyError(str(error)) from None

    async def tend(self, pid: int, report: Callable[[str], None]) -> None:
        _allow_files(pid)
        await save_often(pid, self.data / "mosquitto.db", report)

    def _access(self) -> str:
        mqtt = self.settings.mqtt
        if mqtt.username is None:
            return "allow_anonymous true"
        passwords = self.data / "passwords"
        passwords.unlink(missing_ok=True)
        passwords.touch(mode=0o600)
        told = f"{mqtt.password or ''}\n" * 2
        subprocess.run(
            [find_mosquitto_passwd(), passwords, mqtt.username],
            input=told,
            text=True,
            check=True,
            capture_output=True,
        )
        return f"allow_anonymous false\npassword_file {passwords}"


def _user() -> str:
    """Started by root, Mosquitto would change to this user by itself; the supervisor has done so already."""
    return Mosquitto.user or "" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def _allow_files(pid: int) -> None:
    """Each adapter takes an open file, and many systems give a process 1,024 unless it asks for more."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(
        OSError, AttributeError
    ):  # it has ended, or this system cannot do so from outside
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
