"""An adapter's rounds as the poller runs them, with a list in the place of Kafka."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from strom.devices.box import RunningBox
from strom.ingest.poll.adapters import asking
from strom.ingest.poll.rounds import Rounds
from strom.ingest.poll.times import Times
from strom.metrics import Metrics
from strom.settings import AdapterSettings

ENTRY = "keller"
TOKEN = "geheim"
ABOUT_SLOWNESS = (": is slow, ", ": answers within its interval again")


def rest(box: RunningBox, **more: object) -> AdapterSettings:
    """How to ask this box by REST, rightly unless more is given."""
    given = {
        "by": "rest",
        "address": f"{box.host}:{box.rest_port}",
        "token": box.token,
        "fingerprint": box.fingerprint,
    }
    return AdapterSettings.model_validate(given | {"timeout_seconds": 10} | more)


def modbus(box: RunningBox, **more: object) -> AdapterSettings:
    given = {"by": "modbus", "address": f"{box.host}:{box.modbus_port}", "timeout_seconds": 10}
    return AdapterSettings.model_validate(given | more)


def told_of_troubles(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What the poller logs from now on, but for slow answers: any box is slow for who asks every few milliseconds."""
    every = told_of_all(caplog)
    return lambda: [line for line in every() if not any(words in line for words in ABOUT_SLOWNESS)]


def told_of_all(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "strom.poll")
    return lambda: [record.getMessage() for record in caplog.records]


@dataclass
class Going:
    rounds: Rounds
    metrics: Metrics
    sent: list[bytes] = field(default_factory=list)

    @property
    def told(self) -> dict[str, float]:
        """The metrics, by name and labels without the adapter's."""
        found: dict[str, float] = {}
        for line in self.metrics.text().decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.replace(f'adapter="{ENTRY}",', "").replace(f'{{adapter="{ENTRY}"}}', "")] = float(
                    value
                )
        return found

    def failures(self, kind: str) -> float:
        return self.told.get(f'strom_poll_failures_total{{kind="{kind}"}}', 0)


@asynccontextmanager
async def going(
    adapter: AdapterSettings, interval: float = 0.02, status_seconds: float = 0.0
) -> AsyncIterator[Going]:
    """Asked every few milliseconds while the block lasts."""
    metrics = Metrics()
    sent: list[bytes] = []

    async def room() -> bool:
        return False

    rounds = Rounds(
        ENTRY, asking(ENTRY, adapter), Times(interval, status_seconds), metrics, sent.append, room
    )
    task = asyncio.create_task(rounds.run(0, 0))
    try:
        yield Going(rounds, metrics, sent)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
