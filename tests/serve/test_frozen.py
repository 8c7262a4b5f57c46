"""A Postgres that hangs: it takes connections and questions, and never answers."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strom.errors import StromError
from strom.serve.service import Service
from strom.settings import Settings
from strom.stack.supervisor import Stack
from tests.conftest import settings_in
from tests.outages import frozen
from tests.serve.feeder import Feeder
from tests.serve.test_tasks import running, seen

pytestmark = pytest.mark.stack


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Stack]:
    with Stack(settings_in(tmp_path / "home"), ["postgres"]) as servers:
        yield servers


def test_health_tells_of_a_postgres_that_hangs_and_heals_with_it(
    postgres: Stack, stack: Settings, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strom.store.reads._STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr("strom.store.connection.GRACE_SECONDS", 0.5)
    monkeypatch.setattr("strom.store.connection._CONNECT_SECONDS", 2)  # the least that the driver knows
    kafka = stack.kafka.model_copy(update={"bootstrap": stack.kafka_bootstrap})
    service = Service(postgres.settings.model_copy(update={"kafka": kafka}))
    meter = unique("frozen")

    async def scenario() -> None:
        await seen(lambda: service.health().status == "ok")
        with frozen(postgres.pid("postgres")):
            await seen(lambda: service.health().status == "degraded")
            assert service.health().postgres.state == "lost"
            assert "has not answered within" in service.health().postgres.reason
            with pytest.raises(StromError, match=r"(?i)answer"):
                await asyncio.to_thread(service.reads.master_data)
        await seen(lambda: service.health().status == "ok")
        await asyncio.to_thread(Feeder(postgres.settings).alert, meter, meter)
        await seen(lambda: len(service.alerts.open(meter)) == 1)

    running(service, scenario)
