"""Tables that grow with time have one partition a month. This module makes them, ahead and on demand.

A new partition is attached to its table, which neither readers nor writers of the table wait for. A connection of its own
does so and commits at once. A writer may therefore ask for a month in the middle of its transaction, and several writers
may ask for the same month at the same time.

There is no DEFAULT partition: attaching a month would scan it under a lock that stops all writers, and rows of that month
in it would keep the month from ever being made.
"""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import psycopg
from psycopg import sql

from strom.errors import StromError
from strom.store.connection import connect

# The first half of the key of a lock, the second is made of the schema: partitions are made and dropped one after another.
PARTITION_LOCK = 7_357_603
_LOCK_SECONDS = 20  # whoever waits longer may wait for the writer that waits for us
_MONTHS_AT_ONCE = 12  # a transaction keeps a lock on all that it makes

Month = date  # its first day, in UTC


@dataclass(frozen=True, slots=True)
class Monthly:
    """A table with a partition a month."""

    table: str
    column: str
    epoch_ms: bool = False  # what the column holds; otherwise it is a timestamptz
    fillfactor: int = 100  # belongs to the partitions, their table stores nothing

    def partition(self, month: Month) -> str:
        return f"{self.table}_{month:%Y_%m}"

    def bound(self, month: Month) -> int | str:
        start = datetime(month.year, month.month, 1, tzinfo=UTC)
        return round(start.timestamp()) * 1000 if self.epoch_ms else start.isoformat()


MONTHLY = (
    Monthly("load_profile", "start"),
    Monthly("slot_statistics", "start", fillfactor=70),
    Monthly("tariff_profile", "start"),
    Monthly("profile_segments", "slot", epoch_ms=True, fillfactor=70),
)

_lock = threading.Lock()
_known: dict[str, set[Month]] = {}  # by URL: months that are known to be there


def month_of(epoch_ms: int) -> Month:
    return (date(1970, 1, 1) + timedelta(days=epoch_ms // 86_400_000)).replace(day=1)


def later(month: Month, months: int) -> Month:
    """So many months later, or earlier."""
    year, number = divmod(month.year * 12 + month.month - 1 + months, 12)
    return date(year, number + 1, 1)


def months_between(first_ms: int, last_ms: int) -> list[Month]:
    """All months that the span touches."""
    months = [month_of(first_ms)]
    while months[-1] < month_of(last_ms):
        months.append(later(months[-1], 1))
    return months


def ensure_partitions(where: str | psycopg.Connection, months: Iterable[Month]) -> None:
    """See that these months can be written.

    With a URL they are made and committed by a connection of its own, and remembered by this process. With a connection
    they are part of its transaction, and nobody remembers them.
    """
    wanted = set(months)
    if isinstance(where, psycopg.Connection):
        make_partitions(where, wanted)
        return
    with _lock:
        missing = sorted(wanted - _known.get(where, set()))
    if not missing:
        return
    try:
        with connect(where) as connection:
            connection.autocommit = True
            for first in range(0, len(missing), _MONTHS_AT_ONCE):
                with connection.transaction():
                    connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'".encode())
                    make_partitions(connection, missing[first : first + _MONTHS_AT_ONCE])
    except psycopg.errors.LockNotAvailable:
        raise StromError(
            f"a month of the tables could not be made within {_LOCK_SECONDS} s, since somebody holds a lock on them; it "
            "is tried again.",
            exit_code=1,
        ) from None
    with _lock:
        _known.setdefault(where, set()).update(missing)


def forget_partitions() -> None:
    """Look again before the next write: months may have been dropped, or other tables have taken the place of these."""
    with _lock:
        _known.clear()


def make_partitions(connection: psycopg.Connection, months: Iterable[Month]) -> None:
    """Make what is missing of these months in every table."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (PARTITION_LOCK,))
    wanted = sorted(set(months))
    for monthly in MONTHLY:
        there = partitions_of(connection, monthly)
        for month in wanted:
            if month not in there:
                create_partition(connection, monthly, month)
                attach_partition(connection, monthly, month)


def partitions_of(connection: psycopg.Connection, monthly: Monthly) -> dict[Month, str]:
    """The months that a table of the current schema has, with the names of their partitions."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(%s)",
        (monthly.table,),
    ).fetchall()
    found = ((re.search(r"_(\d{4})_(\d{2})$", name), name) for (name,) in rows)
    return {date(int(match[1]), int(match[2]), 1): name for match, name in found if match}


def create_partition(connection: psycopg.Connection, monthly: Monthly, month: Month) -> None:
    """A table of its own, with all that belongs to a partition, that is not attached yet."""
    connection.execute(
        sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL) WITH (fillfactor = {})").format(
            sql.Identifier(monthly.partition(month)), sql.Identifier(monthly.table), monthly.fillfactor
        )
    )


def attach_partition(connection: psycopg.Connection, monthly: Monthly, month: Month) -> None:
    connection.execute(
        sql.SQL("ALTER TABLE {} ATTACH PARTITION {} ").format(
            sql.Identifier(monthly.table), sql.Identifier(monthly.partition(month))
        )
        + for_values(monthly, month)
    )


def for_values(monthly: Monthly, month: Month) -> sql.Composed:
    bounds: Sequence[int | str] = (monthly.bound(month), monthly.bound(later(month, 1)))
    return sql.SQL("FOR VALUES FROM ({}) TO ({})").format(*map(sql.Literal, bounds))
