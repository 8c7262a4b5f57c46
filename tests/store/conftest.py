"""A way to write, and a meter of one's own."""

from collections.abc import Callable, Iterator

import pytest

from strom.settings import Settings
from strom.store.writes import Writer


@pytest.fixture
def writer(stack: Settings) -> Iterator[Writer]:
    with Writer(stack.postgres_url) as opened:
        yield opened


@pytest.fixture
def meter(unique: Callable[[str], str]) -> str:
    return unique("meter")
