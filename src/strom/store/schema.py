"""Creates the tables of the contract; knows the server only by its URL and nothing of who writes the rows."""

import time
from importlib.resources import files
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from strom.store.connection import connect as connect
from strom.store.division import divide, take_undivided
from strom.store.partitions import (
    MONTHLY,
    Month,
    ensure_partitions,
    forget_partitions,
    later,
    make_partitions,
    month_of,
    partitions_of,
)
from strom.store.schema_check import is_present, note_present
from strom.store.upgrade import settle_what_is_there

# Any number, the same in every Strom process: two that run `CREATE … IF NOT EXISTS` at once would collide.
SCHEMA_LOCK = 7_357_600
_MONTHS_AHEAD = 1  # the others are made when somebody writes into them


def ensure_schema(url: str) -> None:
    """Bring the database to the present schema; safe to repeat, also by several processes at once.

    Where nothing is missing it waits for nobody who reads or writes the tables, and nobody waits for it.
    """
    with connect(url) as connection:
        if not is_present(connection, schema_script()):
            _bring_forward(connection)
        missing = _missing_months(connection)
    if missing:
        ensure_partitions(url, missing)
    forget_partitions()


def _bring_forward(connection: psycopg.Connection) -> None:
    script = schema_script()
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
    if is_present(connection, script):
        return  # another process was first
    connection.execute("SET LOCAL client_min_messages = warning")
    _ensure_namespace(connection)
    undivided = take_undivided(connection)
    connection.execute(script)
    divide(connection, undivided)
    make_partitions(connection, _next_months())
    settle_what_is_there(connection)
    note_present(connection, script)


def _next_months() -> list[Month]:
    this_month = month_of(round(time.time() * 1000))
    return [later(this_month, ahead) for ahead in range(_MONTHS_AHEAD + 1)]


def _missing_months(connection: psycopg.Connection) -> list[Month]:
    there = [partitions_of(connection, monthly).keys() for monthly in MONTHLY]
    return [month for month in _next_months() if not all(month in months for months in there)]


def empty_tables(url: str) -> None:
    """Take every row out of every table; for benchmarks, which have a database of their own."""
    with connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in names.fetchall())
        connection.execute(sql.SQL("TRUNCATE {}").format(tables))


def copy_database(url: str, name: str) -> str:
    """The same tables in a new database of that server; returns its URL. Whoever is connected to the former one is not any more."""
    with connect(url) as connection:
        source = connection.info.dbname
    address = psycopg.conninfo.conninfo_to_dict(url) | {"dbname": "postgres"}
    with psycopg.connect(**address, autocommit=True) as server:  # type: ignore[arg-type]
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (source,))
        names = sql.Identifier(name), sql.Identifier(source)
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def drop_schema(url: str, name: str) -> None:
    """Only with all that it holds."""
    with connect(url) as connection:
        connection.execute("SET LOCAL client_min_messages = warning")
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
    forget_partitions()


def schema_script() -> bytes:
    return files("strom.store").joinpath("schema.sql").read_bytes()


def _ensure_namespace(connection: psycopg.Connection) -> None:
    """Make the schema that the connection looks in, if it is missing."""
    row = connection.execute("SELECT current_setting('search_path'), current_schema()").fetchone()
    if row is not None and row[1] is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(row[0])))
