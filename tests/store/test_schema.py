"""The tables come into being once, whoever is first, and a server that is away is a sentence."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.store.schema import connect, drop_schema, ensure_schema

pytestmark = pytest.mark.stack


def test_many_at_once_make_the_tables_once(stack: Settings, unique: Callable[[str], str]) -> None:
    name = unique("schema").replace("-", "_")
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        url = stack.postgres_url.rsplit("/", 1)[0] + f"/{name}"
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: ensure_schema(url), range(12)))
        with psycopg.connect(url) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).fetchall()
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    names = {table for (table,) in tables}
    assert {"meters", "readings_latest", "load_profile", "gaps", "alerts"} <= names


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    with pytest.raises(StromError, match=r"Postgres at 127\.0\.0\.1:1/strom does not answer") as caught:
        ensure_schema("postgresql://strom:geheim@127.0.0.1:1/strom")
    assert "geheim" not in str(caught.value)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(StromError, match="not a connection URL"):
        ensure_schema("nonsense")


def test_tables_in_a_schema_of_their_own_are_seen_only_by_its_url(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    name = unique("own").replace("-", "_")
    own = stack.with_schema(name)
    for _ in range(2):
        ensure_schema(own.postgres_url)
    with connect(own.postgres_url) as connection:
        connection.execute("INSERT INTO meters (meter, first_seen) VALUES (%s, now())", (name,))
        assert connection.execute("SELECT meter FROM meters").fetchall() == [(name,)]
    with connect(stack.postgres_url) as connection:
        assert connection.execute("SELECT FROM meters WHERE meter = %s", (name,)).fetchall() == []
    drop_schema(stack.postgres_url, name)
