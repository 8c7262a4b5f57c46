"""How the outlets of alerts are, for people who look, and putting what was refused back in line."""

from dataclasses import dataclass
from datetime import datetime

import psycopg

from strom.store.asking import asking

_STATES = """
    WITH counted AS (
        SELECT outlet, count(*) FILTER (WHERE status = 'waiting') AS waiting,
               count(*) FILTER (WHERE status = 'refused') AS refused,
               count(*) FILTER (WHERE status = 'quiet') AS quiet,
               count(*) FILTER (WHERE status = 'given-up') AS given_up,
               min(noted) FILTER (WHERE status = 'waiting' AND due <= clock_timestamp()) AS waiting_since
        FROM alert_deliveries GROUP BY outlet
    )
    SELECT outlet, coalesce(o.delivered, 0), coalesce(c.waiting, 0), coalesce(c.refused, 0), coalesce(c.quiet, 0),
           coalesce(c.given_up, 0), o.last_delivered, c.waiting_since, o.error, o.error_at
    FROM alert_outlets o FULL JOIN counted c USING (outlet) WHERE outlet = ANY(%s)
"""


@dataclass(frozen=True)
class OutletState:
    outlet: str
    delivered: int = 0
    waiting: int = 0
    refused: int = 0
    quiet: int = 0
    given_up: int = 0
    last_delivered: datetime | None = None
    waiting_since: datetime | None = None  # of the oldest that could be sent now
    error: str | None = None
    error_at: datetime | None = None


def outlet_states(url: str, outlets: list[str]) -> list[OutletState]:
    """One for each of these outlets; of one that never sent anything all is zero."""
    with asking(url) as connection:
        try:
            rows = connection.execute(_STATES, (outlets,)).fetchall()
        except psycopg.errors.UndefinedTable:
            rows = []  # no sender has run yet
    found = {row[0]: OutletState(*row) for row in rows}
    return [found.get(outlet, OutletState(outlet)) for outlet in outlets]


def send_again(url: str, outlet: str) -> int:
    """What was refused or given up waits again; returns how many."""
    query = """
        UPDATE alert_deliveries SET status = 'waiting', due = now(), noted = now(), done = NULL
        WHERE outlet = %s AND status IN ('refused', 'given-up')
    """
    with asking(url) as connection:
        try:
            return connection.execute(query, (outlet,)).rowcount
        except psycopg.errors.UndefinedTable:
            return 0
