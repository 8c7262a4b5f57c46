"""The tables come into being once, whoever is first, and a server that is away is a sentence."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql

from strom.errors import StromError
from strom.settings import Settings
from strom.store.partitions import MONTHLY, month_of
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


def tables_of(connection: psycopg.Connection) -> list[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [name for (name,) in found.fetchall()]


def impatient(url: str) -> str:
    """Whoever is waited for is an error."""
    return psycopg.conninfo.make_conninfo(url, options="-c lock_timeout=1s")


@pytest.mark.parametrize("month_is_missing", [False, True])
def test_tables_that_are_there_are_ensured_beside_somebody_who_reads_and_writes_all_of_them(
    database: str, month_is_missing: bool
) -> None:
    ensure_schema(database)
    month = MONTHLY[0].partition(month_of(round(time.time() * 1000)))
    with connect(database) as writer:
        if month_is_missing:
            writer.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(month)))
        writer.execute("INSERT INTO lake_positions VALUES ('settlement', 1, 1)")
        writer.commit()
        writer.execute("SELECT FROM lake_positions FOR UPDATE")
        writer.execute("INSERT INTO meters (meter) VALUES ('m1')")
        for table in tables_of(writer):
            writer.execute(sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(sql.Identifier(table)))
        ensure_schema(impatient(database))
    with connect(database) as connection:
        assert month in tables_of(connection)


@pytest.mark.parametrize(
    "drop", ["INDEX alerts_open", "VIEW quarter_hours", "FUNCTION tariff_sums", "TABLE alert_outlets"]
)
def test_what_somebody_has_dropped_is_made_again(database: str, drop: str) -> None:
    ensure_schema(database)
    with connect(database) as connection:
        connection.execute(f"DROP {drop}".encode())
    ensure_schema(database)
    name = drop.split()[1]
    with connect(database) as connection:
        found = connection.execute("SELECT to_regclass(%s), to_regproc(%s)", (name, name)).fetchone()
    assert found != (None, None)


def test_tables_of_another_script_are_brought_forward(database: str) -> None:
    ensure_schema(database)
    with connect(database) as connection:
        connection.execute("ALTER TABLE meters DROP COLUMN number_at; COMMENT ON TABLE meters IS 'older'")
    ensure_schema(database)
    with connect(database) as connection:
        assert connection.execute("SELECT number_at FROM meters").fetchall() == []
