"""One piece of work on the tables: a transaction that only one pipeline can be in, with bulk loading.

It knows SQL and nothing of what the rows mean; the modules `…_tables` beside it do.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import sql

from strom.errors import StromError
from strom.store.schema import connect

# Batches, the timer's work and a replay of the same tables follow each other; other schemas do not wait.
WORK_LOCK = 7_357_601
PIPELINE = "strom-pipeline"  # how the server shows connections that write what the pipeline computes


def array_of(numbers: Iterable[int | None]) -> str:
    """As an array is written into a staged table: the driver would take several times as long."""
    return "{" + ",".join("NULL" if number is None else str(number) for number in numbers) + "}"


class Work:
    """What may be done inside the transaction."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), values).fetchall()

    def execute(self, query: str, *values: Any) -> None:
        self._connection.execute(query.encode(), values)

    def stage(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Load rows into a temporary table of that name, in one COPY: a join with it replaces a query per row."""
        self._connection.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {name} ({columns}) ON COMMIT DELETE ROWS".encode()
        )
        self._connection.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(name)))
        with self._connection.cursor().copy(
            sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
        ) as copy:
            for row in rows:
                copy.write_row(row)


class Writer:
    """Keeps a connection between pieces of work and makes a new one after an error."""

    def __init__(self, url: str, name: str = "strom") -> None:
        self._url = url
        self._name = name
        self._connection: psycopg.Connection | None = None
        self._is_exclusive = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other writers of these tables out for several pieces of work, with no transaction open between them.

        The lock goes with the connection: where that is lost, no piece of work follows.
        """
        with _as_sentence():
            connection = self._ready()
            connection.execute("SELECT pg_advisory_lock(%s, hashtext(current_schema()))", (WORK_LOCK,))
        self._is_exclusive = True
        try:
            yield
        finally:
            self._is_exclusive = False
            if self._connection is connection and not connection.closed:
                with _as_sentence():
                    connection.execute(
                        "SELECT pg_advisory_unlock(%s, hashtext(current_schema()))", (WORK_LOCK,)
                    )

    @contextmanager
    def work(self) -> Iterator[Work]:
        """All of it is written, or nothing."""
        if self._is_exclusive and (self._connection is None or self._connection.closed):
            raise StromError(
                "the connection to Postgres was lost; what was under way is done again.", exit_code=1
            )
        connection = self._ready()
        try:
            with connection.transaction():
                connection.execute(
                    "SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (WORK_LOCK,)
                )
                yield Work(connection)
        except psycopg.OperationalError as error:
            self.close()
            raise _stopped_answering(error) from error
        except BaseException:
            self.close()
            raise

    def open(self) -> None:
        """Connect now: the server, and whoever asks it, can see that somebody writes here."""
        self._ready()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ready(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url, self._name)
            self._connection.autocommit = True
        return self._connection


@contextmanager
def _as_sentence() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise _stopped_answering(error) from error


def _stopped_answering(error: psycopg.Error) -> StromError:
    return StromError(f"Postgres stopped answering ({' '.join(str(error).split())}).", exit_code=1)
