"""What each outlet has been told of each alert, and what waits to be sent; knows nothing of how it is sent.

A state of an alert is one row under its primary key: told again by whomever, it changes nothing. Whoever sends for an
outlet holds its lock, which goes with the connection, so that two senders never send the same side by side.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import psycopg
from psycopg.errors import ProgramLimitExceeded, StatementTooComplex

from strom.domain.notices import NotAnAlertError, State, Status
from strom.errors import StromError
from strom.store.delivery_notes import Noting
from strom.store.schema import connect, ensure_schema

# The first half of the key of an outlet's lock, the second is made of its name.
OUTLET_LOCK = 7_357_602
_LONGEST_ERROR = 500
_STATEMENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One state of an alert that waits to be sent."""

    alert: str
    state: State
    meter: str
    root: str | None
    body: Mapping[str, Any]
    noted: datetime
    tries: int


class Deliveries:
    """A connection to the table, made anew after an error; for one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection | None = None
        self._locked: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._locked.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def prepare(self) -> None:
        """See that the tables are there and answer."""
        ensure_schema(self._url)

    def holds(self, outlet: str) -> bool:
        """Whether this connection may send for the outlet; another one that does so keeps it from doing so."""
        with self._asking() as connection:
            if outlet not in self._locked:
                query = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
                row = connection.execute(query, (OUTLET_LOCK, outlet)).fetchone()
                if row is not None and row[0]:
                    self._locked.add(outlet)
        return outlet in self._locked

    @contextmanager
    def noting(self) -> Iterator[Noting]:
        """All that one record tells all outlets is noted, or nothing; NotAnAlertError where Postgres can never store it."""
        with self._asking() as connection:
            try:
                with connection.transaction():
                    yield Noting(connection)
            except (psycopg.DataError, ProgramLimitExceeded, StatementTooComplex) as error:
                raise NotAnAlertError(f"Postgres cannot store it ({' '.join(str(error).split())})") from None

    def waiting(self, outlet: str, without: Sequence[str], limit: int) -> list[Delivery]:
        """What is due, in the order in which it is to be sent; nothing of the meters in `without`."""
        query = """
            SELECT alert, state, meter, root, body, noted, tries FROM alert_deliveries
            WHERE outlet = %s AND status = 'waiting' AND due <= clock_timestamp() AND meter <> ALL(%s)
            ORDER BY due, seq LIMIT %s
        """
        with self._asking() as connection:
            rows = connection.execute(query, (outlet, list(without), limit)).fetchall()
        return [Delivery(row[0], State(row[1]), *row[2:]) for row in rows]

    def next_due(self, outlet: str) -> float | None:
        """Seconds until the next one is due, None where nothing waits."""
        query = """
            SELECT extract(epoch FROM min(due) - clock_timestamp())::float8 FROM alert_deliveries
            WHERE outlet = %s AND status = 'waiting'
        """
        with self._asking() as connection:
            row = connection.execute(query, (outlet,)).fetchone()
        return None if row is None or row[0] is None else float(row[0])

    def delivered(self, outlet: str, delivery: Delivery) -> None:
        with self._asking() as connection, connection.transaction():
            self._end(connection, outlet, delivery, Status.DELIVERED, None)
            connection.execute(
                """
                INSERT INTO alert_outlets AS o (outlet, delivered, last_delivered) VALUES (%s, 1, clock_timestamp())
                ON CONFLICT (outlet) DO UPDATE SET delivered = o.delivered + 1, last_delivered = excluded.last_delivered,
                    error = NULL, error_at = NULL
                """,
                (outlet,),
            )

    def refused(self, outlet: str, delivery: Delivery, error: str) -> None:
        with self._asking() as connection, connection.transaction():
            self._end(connection, outlet, delivery, Status.REFUSED, error)
            _note_error(connection, outlet, error)

    def failed(self, outlet: str, delivery: Delivery, error: str) -> None:
        """It goes on waiting."""
        query = "UPDATE alert_deliveries SET tries = tries + 1, error = %s WHERE outlet = %s AND alert = %s AND state = %s"
        with self._asking() as connection, connection.transaction():
            connection.execute(query, (error[:_LONGEST_ERROR], outlet, delivery.alert, delivery.state.value))
            _note_error(connection, outlet, error)

    def forget(self, outlet: str, days: int) -> tuple[int, int]:
        """Give up what has waited for so long, forget what was done so long ago; returns how many of each."""
        with self._asking() as connection, connection.transaction():
            given_up = connection.execute(
                "UPDATE alert_deliveries SET status = 'given-up', done = clock_timestamp() "
                "WHERE outlet = %s AND status = 'waiting' AND noted < now() - %s * interval '1 day'",
                (outlet, days),
            ).rowcount
            forgotten = connection.execute(
                "DELETE FROM alert_deliveries WHERE outlet = %s AND done < now() - %s * interval '1 day'",
                (outlet, days),
            ).rowcount
        return given_up, forgotten

    def _end(
        self,
        connection: psycopg.Connection,
        outlet: str,
        delivery: Delivery,
        status: Status,
        error: str | None,
    ) -> None:
        connection.execute(
            "UPDATE alert_deliveries SET status = %s, done = clock_timestamp(), tries = tries + 1, error = %s "
            "WHERE outlet = %s AND alert = %s AND state = %s",
            (status.value, error and error[:_LONGEST_ERROR], outlet, delivery.alert, delivery.state.value),
        )

    @contextmanager
    def _asking(self) -> Iterator[psycopg.Connection]:
        if self._connection is None or self._connection.closed:
            self.close()
            self._connection = connect(self._url, statement_seconds=_STATEMENT_SECONDS)
            self._connection.autocommit = True
        try:
            yield self._connection
        except psycopg.Error as error:
            self.close()
            raise StromError(f"Postgres did not take it ({' '.join(str(error).split())[:200]}).", 1) from None


def _note_error(connection: psycopg.Connection, outlet: str, error: str) -> None:
    connection.execute(
        """
        INSERT INTO alert_outlets (outlet, error, error_at) VALUES (%s, %s, clock_timestamp())
        ON CONFLICT (outlet) DO UPDATE SET error = excluded.error, error_at = excluded.error_at
        """,
        (outlet, error[:_LONGEST_ERROR]),
    )
