"""The page against the servers of the shared stack."""

from collections.abc import Iterator

import pytest
from feeder import Feeder
from running import Page, at_port, serving, until

from strom.settings import Settings


@pytest.fixture(scope="session")
def page(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One server for all tests that do not break it."""
    with serving(at_port(stack, stack.page.port, tmp_path_factory.mktemp("serve"))) as running:
        until(lambda: running.get("/api/v1/health").json()["status"] == "ok")
        yield running


@pytest.fixture(scope="session")
def feeder(stack: Settings) -> Feeder:
    return Feeder(stack)
