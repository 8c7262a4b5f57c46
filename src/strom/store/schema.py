"""Creates the tables of the contract; knows the server only by its URL and nothing of who writes the rows."""

from importlib.resources import files

import psycopg
from psycopg import sql

from strom.errors import StromError

# Any number, the same in every Strom process: two that run `CREATE … IF NOT EXISTS` at once would collide.
SCHEMA_LOCK = 7_357_600


def ensure_schema(url: str) -> None:
    """Bring the database to the present schema; safe to repeat, also by several processes at once."""
    script = schema_script()
    with connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        connection.execute("SET LOCAL client_min_messages = warning")
        _ensure_namespace(connection)
        connection.execute(script)


def empty_tables(url: str) -> None:
    """Take every row out of every table; for benchmarks, which have a database of their own."""
    with connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in names.fetchall())
        connection.execute(sql.SQL("TRUNCATE {}").format(tables))


def drop_schema(url: str, name: str) -> None:
    """Only with all that it holds."""
    with connect(url) as connection:
        connection.execute("SET LOCAL client_min_messages = warning")
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def schema_script() -> bytes:
    return files("strom.store").joinpath("schema.sql").read_bytes()


def connect(url: str, name: str = "strom") -> psycopg.Connection:
    """A connection in UTC, or a sentence that says which server does not answer; `name` is shown by the server."""
    try:
        options = f"{psycopg.conninfo.conninfo_to_dict(url).get('options') or ''} -c timezone=UTC".strip()
        return psycopg.connect(url, options=options, connect_timeout=10, application_name=name)
    except psycopg.OperationalError as error:
        raise StromError(
            f"Postgres at {_without_password(url)} does not answer ({_reason(error)}); {_ADVICE}."
        ) from None
    except psycopg.ProgrammingError as error:
        raise StromError(f"postgres.url is not a connection URL ({_reason(error)}); {_ADVICE}.") from None


def _ensure_namespace(connection: psycopg.Connection) -> None:
    """Make the schema that the connection looks in, if it is missing."""
    row = connection.execute("SELECT current_setting('search_path'), current_schema()").fetchone()
    if row is not None and row[1] is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(row[0])))


_ADVICE = "start it with `strom up --only postgres`, or correct postgres.url"


def _without_password(url: str) -> str:
    """Host, port and database: enough to find the server, nothing that must not stand in a log."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"{parts.get('host', 'its default host')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:200]
