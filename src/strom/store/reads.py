"""Reads the tables for people: quarter-hours, alerts, the latest readings; writes nothing and knows no HTTP.

A few idle connections are kept: a page asks often, and an answer takes less time than a new connection.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, Full, LifoQueue
from typing import Any

import psycopg
from psycopg.rows import dict_row

from strom.domain.statistics import QUANTITIES
from strom.store.asking import asking, unanswered
from strom.store.connection import Unanswered
from strom.store.mark_tables import LAKE
from strom.store.schema import connect

_IDLE = 4
_ROWS = 1000
_STATEMENT_SECONDS = 10.0

Row = dict[str, Any]

# `max` over this rank is the worst quality of a slot.
_RANK = "array_position(ARRAY['measured', 'calculated', 'substitute', 'missing'], quality)"
_QUALITY = "(ARRAY['measured', 'calculated', 'substitute', 'missing'])"

_BANDS = ", ".join(f"{name}_{part}" for name in QUANTITIES for part in ("min", "mean", "max"))
_METER_DAY = f"""
    SELECT start, import_wh, export_wh, quality, samples, expected, version, flags, 1 AS meters, {_BANDS}
    FROM quarter_hours WHERE meter = %(meter)s AND start >= %(start)s AND start < %(end)s ORDER BY start
"""  # noqa: S608 - built from the constants above
_TARIFF_DAY = """
    SELECT start, import_wh, export_wh, quality, samples, expected, version, flags, 1 AS meters FROM tariff_profile
    WHERE meter = %(meter)s AND tariff = %(tariff)s AND start >= %(start)s AND start < %(end)s ORDER BY start
"""
_FLEET_DAY = f"""
    SELECT start, sum(import_wh) AS import_wh, sum(export_wh) AS export_wh,
           {_QUALITY}[max({_RANK})] AS quality, sum(samples) AS samples, sum(expected) AS expected,
           max(version) AS version, '{{}}'::text[] AS flags,
           count(*) FILTER (WHERE quality <> 'missing') AS meters
    FROM load_profile WHERE start >= %(start)s AND start < %(end)s GROUP BY start ORDER BY start
"""  # noqa: S608 - built from the constants above
_METER_SUMS = """
    SELECT start, import_wh, export_wh, slots, of_slots, quality FROM energy_sums_between(%(unit)s, %(zone)s, %(start)s, %(end)s)
    WHERE meter = %(meter)s ORDER BY start
"""
_TARIFF_SUMS = """
    SELECT start, import_wh, export_wh, slots, of_slots, quality FROM tariff_sums_between(%(unit)s, %(zone)s, %(start)s, %(end)s)
    WHERE meter = %(meter)s AND tariff = %(tariff)s ORDER BY start
"""
_FLEET_SUMS = f"""
    SELECT start, sum(import_wh) AS import_wh, sum(export_wh) AS export_wh, sum(slots) AS slots,
           sum(of_slots) AS of_slots, {_QUALITY}[max({_RANK})] AS quality
    FROM energy_sums_between(%(unit)s, %(zone)s, %(start)s, %(end)s) GROUP BY start ORDER BY start
"""  # noqa: S608 - built from the constants above
_FIRST = "SELECT min(start) AS first FROM load_profile WHERE meter = %(meter)s"
_FIRST_OF_TARIFF = (
    "SELECT min(start) AS first FROM tariff_profile WHERE meter = %(meter)s AND tariff = %(tariff)s"
)
# Meter by meter through the primary key: no index has the times of all meters in their order.
_FIRST_OF_FLEET = """
    SELECT min(f.start) AS first FROM meters m CROSS JOIN LATERAL (
        SELECT l.start FROM load_profile l WHERE l.meter = m.meter ORDER BY l.start LIMIT 1
    ) f
"""
_ALERTS = """
    SELECT id, meter, kind, part, severe, started, ended, value, threshold, text FROM alerts
    WHERE (NOT %(open)s OR ended IS NULL)
      AND (%(meter)s::text IS NULL OR meter = %(meter)s)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s)
"""
_ALERT_ORDERS = {
    "-started": "started DESC, id",
    "started": "started, id",
    "severe": "severe DESC, started DESC, id",
}
# A row's xmin changes with each write: what is new and what changed can be told without reading the rows.
_ALERT_VERSIONS = """
    SELECT id, xmin::text::bigint AS version FROM alerts WHERE ended IS NULL
    UNION ALL SELECT id, xmin::text::bigint FROM alerts WHERE ended > now() - interval '1 hour'
"""
_ALERTS_BY_ID = """
    SELECT id, meter, kind, part, severe, started, ended, value, threshold, text FROM alerts WHERE id = ANY(%(ids)s)
"""
_OTHER_LATEST = """
    SELECT meter, reading::text AS reading FROM readings_latest
    LEFT JOIN unnest(%(known)s::text[]) AS known (name) ON known.name = meter WHERE known.name IS NULL
"""


@dataclass(frozen=True)
class AlertFilter:
    open_only: bool = True
    meter: str | None = None
    kind: str | None = None


class Reads:
    """Questions to the tables; each raises StromError with a sentence when Postgres does not answer."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: LifoQueue[psycopg.Connection[Row]] = LifoQueue(_IDLE)

    def quarter_hours(
        self, start: datetime, end: datetime, meter: str | None = None, tariff: int | None = None
    ) -> list[Row]:
        """The slots of one meter, or of a tariff of it, or of all meters summed up, in a time range."""
        query = _TARIFF_DAY if tariff else _METER_DAY if meter is not None else _FLEET_DAY
        return self._all(query, {"meter": meter, "tariff": tariff, "start": start, "end": end})

    def sums(
        self,
        unit: str,
        span: tuple[datetime, datetime],
        zone: str,
        meter: str | None = None,
        tariff: int | None = None,
    ) -> list[Row]:
        """Energy by local hour, day, month …, of one meter or of all; periods that begin in the time range."""
        query = _TARIFF_SUMS if tariff else _METER_SUMS if meter is not None else _FLEET_SUMS
        values = {"unit": unit, "zone": zone, "meter": meter, "tariff": tariff}
        return self._all(query, values | {"start": span[0], "end": span[1]})

    def first_slot(self, meter: str | None = None, tariff: int | None = None) -> datetime | None:
        """When the quarter-hours begin."""
        query = _FIRST_OF_TARIFF if tariff else _FIRST if meter is not None else _FIRST_OF_FLEET
        found: datetime | None = self._all(query, {"meter": meter, "tariff": tariff})[0]["first"]
        return found

    def alerts(
        self, wanted: AlertFilter, limit: int, offset: int, order: str = "-started"
    ) -> tuple[int, list[Row]]:
        """How many there are and one page of them, in an order of _ALERT_ORDERS."""
        values = {"open": wanted.open_only, "meter": wanted.meter, "kind": wanted.kind}
        total = self._all(f"SELECT count(*) AS total FROM ({_ALERTS}) AS found", values)[0]["total"]  # noqa: S608
        page = f"{_ALERTS} ORDER BY {_ALERT_ORDERS[order]} LIMIT %(limit)s OFFSET %(offset)s"
        return total, self._all(page, values | {"limit": limit, "offset": offset})

    def alert_versions(self) -> dict[str, int]:
        """What is open and what ended in the last hour: ids, each with a number that changes with its row."""
        return {row["id"]: row["version"] for row in self._all(_ALERT_VERSIONS, {})}

    def alerts_by_id(self, ids: list[str]) -> list[Row]:
        return self._all(_ALERTS_BY_ID, {"ids": ids})

    def latest_readings(self, known: list[str]) -> list[tuple[str, str]]:
        """The latest reading of every other meter: its name and the JSON text."""
        return [(row["meter"], row["reading"]) for row in self._all(_OTHER_LATEST, {"known": known})]

    def master_data(self) -> list[Row]:
        return self._all("SELECT meter, meter_number, area, tariff, contract, first_seen FROM meters", {})

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _all(self, query: str, values: Row) -> list[Row]:
        try:
            with self._connection() as connection:
                return _fetch(connection, query, values)
        except psycopg.Error as error:
            if not _may_be_restarted(error):
                if isinstance(error, Unanswered):
                    self.close()  # the idle ones would hang as well
                raise unanswered(error) from None
        # The server was restarted under an idle connection: ask once more on a new one.
        self.close()
        try:
            with self._connection() as connection:
                return _fetch(connection, query, values)
        except psycopg.Error as error:
            raise unanswered(error) from None

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Row]]:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._open()
        try:
            yield connection
            self._idle.put_nowait(connection)
        except Full:
            connection.close()
        except BaseException:
            connection.close()
            raise

    def _open(self) -> psycopg.Connection[Row]:
        plain = connect(self._url, statement_seconds=_STATEMENT_SECONDS)
        plain.autocommit = True
        plain.read_only = True
        connection: psycopg.Connection[Row] = plain  # type: ignore[assignment]
        connection.row_factory = dict_row
        connection.execute("SET jit = off")  # compiling for every month takes longer than most answers
        return connection


def _may_be_restarted(error: psycopg.Error) -> bool:
    """Whether the server has ended the connection without a word, or with one about its own end."""
    if isinstance(error, psycopg.DataError | Unanswered):
        return False  # the driver could not send the values; the server is there and hangs
    return error.sqlstate is None or isinstance(error, psycopg.errors.AdminShutdown)


def _fetch(connection: psycopg.Connection[Row], query: str, values: Row) -> list[Row]:
    cursor = connection.execute(query, values)
    found: list[Row] = []
    # Of many rows some at a time: other threads get their turn between.
    while some := cursor.fetchmany(_ROWS):
        found += some
    return found


def table_counts(url: str) -> dict[str, int]:
    """How many rows the tables for people hold."""
    with asking(url) as connection:
        query = "SELECT (SELECT count(*) FROM load_profile), (SELECT count(*) FROM alerts)"
        row = connection.execute(query).fetchone()
    return {"load_profile": int(row[0]), "alerts": int(row[1])} if row else {}


def taken_marks(url: str, job: str = LAKE) -> list[tuple[str, int, int]]:
    """Raw topics with partitions and offsets, as the readings name them, up to which readings are in the lake."""
    with asking(url) as connection:
        rows = connection.execute(
            "SELECT topic, raw_partition, raw_offset FROM pipeline_marks WHERE job = %s", (job,)
        ).fetchall()
    return [(str(topic), int(partition), int(offset)) for topic, partition, offset in rows]


def taken_in(url: str, job: str = LAKE) -> dict[int, int]:
    """Per raw partition the highest offset whose reading is in the lake, or with `TABLES` in all tables as well."""
    found: dict[int, int] = {}
    for _, partition, offset in taken_marks(url, job):
        found[partition] = max(offset, found.get(partition, -1))
    return found
