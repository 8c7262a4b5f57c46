"""What tests of the bridge share: a topic of their own, and servers that they may break."""

from collections.abc import Callable, Iterator

import pytest

from strom.stack.supervisor import Stack
from tests.conftest import settings_in


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Kafka and Mosquitto."""
    with Stack(settings_in(tmp_path_factory.mktemp("servers")), ["kafka", "mqtt"]) as stack:
        yield stack


@pytest.fixture
def topic(unique: Callable[[str], str]) -> str:
    """An MQTT topic that nobody else uses."""
    return unique("sma")
