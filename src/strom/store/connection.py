"""A connection to Postgres, or one sentence that says why there is none; knows no table.

A server that vanishes is noticed by TCP within a minute. One that hangs still acknowledges every packet: who cannot wait
for it says how long a statement may take.
"""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.errors import _WaitTimeout

from strom.errors import StromError

_ADVICE = "start it with `strom up --only postgres`, or correct postgres.url"
_CONNECT_SECONDS = 10
GRACE_SECONDS = 5.0  # the server ends a statement itself, if it can: its sentence is the better one
# Probes after 15 s of silence, and 30 s for what was sent and is not acknowledged; a URL may say otherwise.
_KEEPALIVE: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class Unanswered(psycopg.OperationalError):
    """The server has taken the statement and says nothing; the connection is closed."""


class BoundedConnection(psycopg.Connection[Any]):
    """Waits for each answer for so many seconds, if any are set."""

    answer_seconds: float | None = None

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        try:
            return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)
        except _WaitTimeout:
            if timeout is not None:
                raise  # it is the driver's own, which knows what to do
            self.close()
            raise Unanswered(f"it has not answered within {self.answer_seconds:.0f} s") from None


def connect(url: str, name: str = "strom", statement_seconds: float | None = None) -> psycopg.Connection:
    """A connection in UTC, or a sentence that says which server does not answer; `name` is shown by the server.

    A statement may take `statement_seconds`; the server ends it then, and a server that hangs is given up soon after.
    """
    try:
        told = psycopg.conninfo.conninfo_to_dict(url)
        options = [str(told.get("options") or ""), "-c timezone=UTC"]
        if statement_seconds is not None:
            options.append(f"-c statement_timeout={round(statement_seconds * 1000)}")
        keepalive = {key: value for key, value in _KEEPALIVE.items() if key not in told}
        connection = BoundedConnection.connect(
            url,
            options=" ".join(options).strip(),
            connect_timeout=_CONNECT_SECONDS,
            application_name=name,
            **keepalive,
        )
    except psycopg.OperationalError as error:
        raise StromError(
            f"Postgres at {_without_password(url)} does not answer ({_reason(error)}); {_ADVICE}."
        ) from None
    except psycopg.ProgrammingError as error:
        raise StromError(f"postgres.url is not a connection URL ({_reason(error)}); {_ADVICE}.") from None
    if statement_seconds is not None:
        connection.answer_seconds = statement_seconds + GRACE_SECONDS
    return connection


def _without_password(url: str) -> str:
    """Host, port and database: enough to find the server, nothing that must not stand in a log."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"{parts.get('host', 'its default host')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:200]
