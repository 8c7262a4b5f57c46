"""What tests of the Kafka contract share."""

from collections.abc import Iterator

import pytest

from strom.stack.supervisor import Stack
from tests.conftest import settings_in


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A Kafka that these tests may break; each leaves it running."""
    with Stack(settings_in(tmp_path_factory.mktemp("dies")), ["kafka"]) as stack:
        yield stack
