"""A way to write, and a meter of one's own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
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


@pytest.fixture
def database(stack: Settings, unique: Callable[[str], str]) -> Iterator[str]:
    """The URL of an empty database of one's own."""
    with own_database(stack, unique("store")) as url:
        yield url


@contextmanager
def own_database(stack: Settings, name: str) -> Iterator[str]:
    name = name.replace("-", "_")
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
