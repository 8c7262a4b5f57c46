"""A connection to Postgres, or one sentence that says why there is none; knows no table."""

import psycopg

from strom.errors import StromError

_ADVICE = "start it with `strom up --only postgres`, or correct postgres.url"


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


def _without_password(url: str) -> str:
    """Host, port and database: enough to find the server, nothing that must not stand in a log."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"{parts.get('host', 'its default host')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:200]
