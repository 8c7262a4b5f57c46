"""Asking Postgres, and the one sentence that says why there is no answer; knows no question."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from strom.errors import StromError
from strom.store.schema import connect

# Where no pipeline has run, the functions are missing, too.
NO_TABLES = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction)
_STATEMENT_SECONDS = 30.0


@contextmanager
def asking(url: str) -> Iterator[psycopg.Connection]:
    """A connection for one question, whose answer may take half a minute."""
    try:
        with connect(url, statement_seconds=_STATEMENT_SECONDS) as connection:
            yield connection
    except psycopg.Error as error:
        raise unanswered(error) from None


def unanswered(error: psycopg.Error) -> StromError:
    if isinstance(error, NO_TABLES):
        return StromError(
            "tables are missing in this Postgres; `strom pipeline run` makes them, or correct postgres.url and "
            "postgres.schema_name."
        )
    reason = " ".join(str(error).split())[:200]
    return StromError(f"Postgres did not answer the question ({reason}); `strom status` tells how it is.")


def require_table(url: str, name: str) -> None:
    """For those who ask by another driver, whose errors are pages."""
    with asking(url) as connection:
        connection.execute(sql.SQL("SELECT FROM {} LIMIT 0").format(sql.Identifier(name)))
