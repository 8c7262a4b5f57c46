"""One piece of work on the tables: a transaction that only one pipeline can be in, with bulk loading.

It knows SQL and nothing of what the rows mean; the modules `…_tables` beside it do.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import sql

from strom.errors import StromError
from strom.store.connection import connect
from strom.store.partitions import ensure_partitions, forget_partitions, month_of

# Batches, the timer's work and a replay of the same tables follow each other; other schemas do not wait.
WORK_LOCK = 7_357_601
# Every statement here goes by key. The planner's numbers would at times say otherwise: a plan made while a month was
# almost empty is kept, and an array of keys has an unknown length.
PLANNING = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off"
# A machine that is gone without a word must not hold its locks for hours.
PRESENCE = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
PART_MINUTES = 5  # in which somebody at work on a part asks Postgres for something
# How the server shows connections that write what the pipeline computes: the driver's, and those of its executors.
PIPELINE, EXECUTOR = "strom-pipeline", "strom-executor"


def array_of(numbers: Iterable[int | None]) -> str:
    """As Postgres reads an array: the driver would take several times as long to write it."""
    return "{" + ",".join(["NULL" if number is None else str(number) for number in numbers]) + "}"


def texts_of(texts: Iterable[str]) -> str:
    """The same of texts, in none of which Postgres could keep a NUL."""
    listed = list(texts)
    escaped = "\0".join(listed).replace("\\", r"\\").replace('"', r"\"").replace("\0", '","')
    return f'{{"{escaped}"}}' if listed else "{}"


def columns_of(rows: Iterable[Sequence[Any]], width: int) -> list[str]:
    """Rows of texts and numbers as one array for each column, as `unnest` takes them."""
    columns = list(zip(*rows, strict=True)) or [()] * width
    return [
        texts_of(column) if column and isinstance(column[0], str) else array_of(column) for column in columns
    ]


class Work:
    """What may be done inside the transaction."""

    def __init__(self, connection: psycopg.Connection, url: str | None = None) -> None:
        """`url`: where partitions are made apart from the transaction; without it they are part of it."""
        self._connection = connection
        self._url = url

    def ensure_partitions(self, times_ms: Iterable[int]) -> None:
        """See that rows of these times can be written; whoever did so before the transaction began loses nothing."""
        ensure_partitions(self._url or self._connection, {month_of(time) for time in set(times_ms)})

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), values).fetchall()

    def execute(self, query: str, *values: Any) -> None:
        self._connection.execute(query.encode(), values)

    def stage(self, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Load rows that are to be written into a temporary table of that name, in one COPY.

        Keys that are looked up are arrays instead (`columns_of`): the planner knows nothing of a temporary table.
        """
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
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (WORK_LOCK,))
            yield Work(connection, self._url)

    @contextmanager
    def part(self) -> Iterator[Work]:
        """A transaction of its own within the work of somebody who keeps all others out.

        The connection may have waited for long, and the server may have been restarted meanwhile.
        """
        self._drop_if_lost()
        with self._transaction() as connection:
            connection.execute(
                f"SET LOCAL idle_in_transaction_session_timeout = '{PART_MINUTES}min'".encode()
            )
            yield Work(connection, self._url)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection]:
        connection = self._ready()
        try:
            with connection.transaction():
                yield connection
        except psycopg.errors.CheckViolation:
            forget_partitions()  # the month may be one that another process has dropped
            self.close()
            raise
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

    def _drop_if_lost(self) -> None:
        try:
            if self._connection is not None:
                self._connection.execute("SELECT")
        except psycopg.OperationalError:
            self.close()

    def _ready(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url, self._name)
            self._connection.autocommit = True
            self._connection.execute(f"{PLANNING}; {PRESENCE}".encode())
        return self._connection


@contextmanager
def _as_sentence() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise _stopped_answering(error) from error


def _stopped_answering(error: psycopg.Error) -> StromError:
    return StromError(f"Postgres stopped answering ({' '.join(str(error).split())}).", exit_code=1)
