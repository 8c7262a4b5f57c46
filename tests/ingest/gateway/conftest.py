"""A gateway at the shared Kafka, for tests that do not break it."""

from collections.abc import Callable, Iterator

import pytest

from strom.settings import Settings
from tests.ingest.gateway.calling import Caller, calling, gateway_settings
from tests.streams.writing import topic_of


@pytest.fixture(scope="session")
def gateway(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Called by anna, who may do everything."""
    with calling(gateway_settings(stack, tmp_path_factory.mktemp("gateway"))) as caller:
        yield caller


@pytest.fixture
def topic(stack: Settings, unique: Callable[[str], str]) -> str:
    """A new topic of two partitions."""
    return topic_of(stack, unique("team"))
