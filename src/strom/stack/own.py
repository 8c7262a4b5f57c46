"""Strom's own long-running parts as child processes: each is a verb of the same command."""

import sys
from collections.abc import Mapping
from typing import ClassVar

from strom.errors import StromError
from strom.settings import EMBEDDED_CLUSTER, ENV_PREFIX, Settings, users_come_from_file
from strom.stack.part import NotReadyError, Part
from strom.stack.ready import announced_pid, withdraw


class OwnPart(Part):
    """Ready when it says so itself, since only it can tell that its first request has succeeded."""

    verb: ClassVar[tuple[str, ...]]
    first_attempts: ClassVar[int] = 1

    @property
    def environment(self) -> Mapping[str, str]:
        return self.settings.child_environment()

    def prepare(self) -> None:
        withdraw(self.home, self.verb[0])
        super().prepare()

    def command(self) -> list[str]:
        return [sys.executable, "-m", "strom", *self.verb]

    def probe(self, pid: int | None) -> None:
        if pid not in (announced_pid(self.home, self.name), announced_pid(self.home, self.verb[0])):
            raise NotReadyError("it has not announced itself")


class Bridge(OwnPart):
    name: str = "bridge"
    label: str = "the bridge"
    needs: tuple[str, ...] = ("kafka", "mqtt")
    verb: ClassVar[tuple[str, ...]] = ("bridge",)

    @property
    def address(self) -> str:
        host, port = self.settings.mqtt_address
        return f"{host}:{port} → {self.settings.kafka_bootstrap}"


class Poll(OwnPart):
    """Only where the settings name an adapter to ask; see the catalogue."""

    name: str = "poll"
    label: str = "the poller"
    needs: tuple[str, ...] = ("kafka",)
    verb: ClassVar[tuple[str, ...]] = ("poll", "all")
    stop_seconds: float = 30.0  # what is held is brought over first

    @property
    def address(self) -> str:
        count = len(self.settings.adapters)
        return f"{count} {'adapter' if count == 1 else 'adapters'} → {self.settings.kafka_bootstrap}"

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        poll = self.settings.poll
        return (
            ()
            if poll.metrics_port is None
            else ((poll.metrics_host, poll.metrics_port, "poll.metrics_port"),)
        )

    def check(self) -> None:
        super().check()
        if not self.settings.adapters:
            raise StromError(
                "poll needs an adapter to ask: put [adapters.NAME] with by and address into strom.toml."
            )


class Pipeline(OwnPart):
    name: str = "pipeline"
    label: str = "the pipeline"
    needs: tuple[str, ...] = ("kafka", "postgres")
    verb: ClassVar[tuple[str, ...]] = ("pipeline", "run")
    start_seconds: float = 240.0  # a JVM, a Spark session and two queries on a busy small machine
    stop_seconds: float = 60.0

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        if settings.spark.master == EMBEDDED_CLUSTER:
            self.needs = (*self.needs, "spark")
        if not settings.spark_master.startswith("local"):
            self.start_seconds += settings.spark.wait_seconds

    @property
    def address(self) -> str:
        return self.settings.spark_master


class Page(OwnPart):
    name: str = "page"
    label: str = "the page"
    needs: tuple[str, ...] = ("kafka", "postgres")
    verb: ClassVar[tuple[str, ...]] = ("serve",)

    @property
    def address(self) -> str:
        return f"http://{self.settings.page.host}:{self.settings.page.port}"

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        return ((self.settings.page.host, self.settings.page.port, "page.port"),)


class Gateway(OwnPart):
    name: str = "gateway"
    label: str = "the gateway"
    needs: tuple[str, ...] = ("kafka",)
    verb: ClassVar[tuple[str, ...]] = ("gateway",)

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        # The gateway ends itself before, and says why it had to.
        self.stop_seconds = settings.gateway.send_seconds + 50.0
        # Said once: after a change of the file the gateway's next start must find the new users there.
        self._finds_users_itself = users_come_from_file(settings)

    @property
    def address(self) -> str:
        return f"http://{self.settings.gateway.host}:{self.settings.gateway.port}"

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        return ((self.settings.gateway.host, self.settings.gateway.port, "gateway.port"),)

    @property
    def environment(self) -> Mapping[str, str]:
        hidden = f"{ENV_PREFIX}USERS" if self._finds_users_itself else ""
        return {name: value for name, value in super().environment.items() if name != hidden}


class Alerts(OwnPart):
    """Only where the settings name an outlet; see the catalogue."""

    name: str = "alerts"
    label: str = "the sender of alerts"
    needs: tuple[str, ...] = ("kafka", "postgres")
    verb: ClassVar[tuple[str, ...]] = ("alerts", "send")
    stop_seconds: float = 60.0  # a request under way ends, or its time is over

    @property
    def address(self) -> str:
        settings = self.settings
        outlets = {
            "webhook": settings.alerts_webhook,
            "mqtt": settings.alerts_mqtt,
            "mail": settings.alerts_mail,
        }
        return ", ".join(name for name, outlet in outlets.items() if outlet.is_set)

    def check(self) -> None:
        super().check()
        if not self.settings.sends_alerts:
            raise StromError(
                "alerts needs an outlet: set alerts_webhook.url, alerts_mqtt.topic or alerts_mail.to."
            )
