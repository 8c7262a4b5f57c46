"""What one record of the alerts tells the outlets, noted within one transaction; what is news is decided elsewhere."""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.json import Json

from strom.domain.notices import Heard, News, State, Status, Told


class Noting:
    """What may be asked and written while the news of one record are noted."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def heard(self, outlet: str, told: Told) -> dict[State, Heard]:
        """What the outlet has of this alert."""
        query = "SELECT alert, state, status, severe, ended, root FROM alert_deliveries WHERE outlet = %s AND alert = %s"
        rows = self._connection.execute(query, (outlet, told.id)).fetchall()
        return {each.state: each for each in map(_heard, rows)}

    def end_before(self, outlet: str, told: Told) -> Heard | None:
        """The latest end of another alert about the same thing, before this one started.

        One whose time has come counts as told: it may be on its way at this moment.
        """
        query = """
            SELECT alert, state, CASE WHEN status = 'waiting' AND due <= clock_timestamp() THEN 'delivered' ELSE status END,
                   severe, ended, root FROM alert_deliveries
            WHERE outlet = %s AND meter = %s AND kind = %s AND part = %s AND state = 'ended' AND ended <= %s
              AND alert <> %s ORDER BY ended DESC, seq DESC LIMIT 1
        """
        about = (outlet, told.meter, told.kind, told.part, told.started, told.id)
        row = self._connection.execute(query, about).fetchone()
        return None if row is None else _heard(row)

    def keep(self, outlet: str, told: Told, news: News, hold_ms: int) -> None:
        for key in news.silenced:
            alert, _, state = key.rpartition(".")
            self._connection.execute(
                "UPDATE alert_deliveries SET status = 'quiet', done = clock_timestamp() "
                "WHERE outlet = %s AND alert = %s AND state = %s AND status = 'waiting'",
                (outlet, alert, state),
            )
        self._connection.execute(
            """
            INSERT INTO alert_deliveries
                (outlet, alert, state, meter, kind, part, severe, ended, root, body, status, due, done)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
                clock_timestamp() + %s * interval '1 millisecond', CASE WHEN %s THEN NULL ELSE clock_timestamp() END)
            ON CONFLICT DO NOTHING
            """,
            (
                outlet, told.id, news.state.value, told.meter, told.kind, told.part, told.severe, told.ended,
                news.root, Json(told.record), news.status.value, hold_ms if news.held else 0,
                news.status is Status.WAITING,
            ),
        )  # fmt: skip


def _heard(row: Sequence[Any]) -> Heard:
    return Heard(row[0], State(row[1]), Status(row[2]), *row[3:])
