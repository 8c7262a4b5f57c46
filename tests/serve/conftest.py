"""The page against the servers of the shared stack."""

from collections.abc import Iterator

import pytest

from strom.settings import Settings
from tests.serve.feeder import Feeder
from tests.serve.running import Page, at_port, serving
from tests.waiting import until


@pytest.fixture(scope="session")
def page(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One server for all tests that do not break it."""
    with serving(at_port(stack, stack.page.port, tmp_path_factory.mktemp("serve"))) as running:
        until(lambda: running.get("/api/v1/health").json()["status"] == "ok")
        yield running


@pytest.fixture(scope="session")
def feeder(stack: Settings) -> Feeder:
    return Feeder(stack)
