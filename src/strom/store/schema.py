"""Creates the tables of the contract; knows the server only by its URL and nothing of who writes the rows."""

from importlib.resources import files

import psycopg
from psycopg import sql

from strom.errors import StromError

# Any number, the same in every Strom process: two that run `CREATE … IF NOT EXISTS` at once would collide.
SCHEMA_LOCK = 7_357_600


def ensure_schema(url: str) -> None:
    """Bring the database to the present schema; safe to repeat, also by several processes at once."""
    script = files("strom.store").joinpath("schema.sql").read_bytes()
    with connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        connection.execute("SET LOCAL client_min_messages = warning")
        connection.execute(script)


def empty_tables(url: str) -> None:
    """Take every row out of every table; for benchmarks, which have a database of their own."""
    with connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in names.fetchall())
        connection.execute(sql.SQL("TRUNCATE {}").format(tables))


def connect(url: str) -> psycopg.Connection:
    """A connection in UTC, or a sentence that says which server does not answer."""
    try:
        return psycopg.connect(url, options="-c timezone=UTC", connect_timeout=10, application_name="strom")
    except psycopg.OperationalError as error:
        raise StromError(
            f"Postgres at {_without_password(url)} does not answer ({_reason(error)}); {_ADVICE}."
        ) from None
    except psycopg.ProgrammingError as error:
        raise StromError(f"postgres.url is not a connection URL ({_reason(error)}); {_ADVICE}.") from None


_ADVICE = "start it with `strom up --only postgres`, or correct postgres.url"


def _without_password(url: str) -> str:
    """Host, port and database: enough to find the server, nothing that must not stand in a log."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"{parts.get('host', 'its default host')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:200]
