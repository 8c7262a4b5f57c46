"""Takes away what is older than `postgres.keep_months`: whole months of the large tables, rows of the small ones."""

from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from psycopg import sql

from strom.store.connection import connect
from strom.store.partitions import (
    MONTHLY,
    PARTITION_LOCK,
    Month,
    Monthly,
    attach_partition,
    create_partition,
    forget_partitions,
    later,
    partitions_of,
)

# Dropping waits for whoever reads or writes the table, and all others wait behind it: not for longer than this.
_LOCK_SECONDS = 3
_SERIES = "profile_segments"

# Rows of the small tables that ended before the first month that is kept. What has not ended stays.
_SMALL = (
    ("gaps", '"end" < %(time)s'),
    ("tariff_gaps", '"end" < %(time)s'),
    ("alerts", "ended < %(time)s"),
    ("late_readings", "received < %(time)s"),
    ("runs", "until < %(ms)s"),
)


@dataclass(frozen=True, slots=True)
class Dropped:
    partitions: int
    rows: int  # of the small tables


def first_kept(now: datetime, keep_months: int) -> Month:
    """Only whole months go: between this many and one more are there."""
    return later(now.astimezone(UTC).date().replace(day=1), -keep_months)


def drop_months(url: str, first: Month) -> Dropped:
    """Drop all before this month; a table that is in use for long is left to the next call."""
    dropped = 0
    try:
        with connect(url) as connection:
            connection.autocommit = True
            for monthly in MONTHLY:
                for month in sorted(partitions_of(connection, monthly)):
                    if month < first:
                        dropped += _drop_month(connection, monthly, month)
            return Dropped(dropped, _delete_rows(connection, first))
    finally:
        if dropped:
            forget_partitions()


def _drop_month(connection: psycopg.Connection, monthly: Monthly, month: Month) -> bool:
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'".encode())
            connection.execute(
                "SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (PARTITION_LOCK,)
            )
            if month not in partitions_of(connection, monthly):
                return False
            # The table before its partition, as writers do: the other way round each could wait for the other.
            connection.execute(
                sql.SQL("LOCK TABLE ONLY {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(monthly.table))
            )
            if monthly.table == _SERIES:
                return _drop_but_tails(connection, monthly, month)
            connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(monthly.partition(month))))
            return True
    except psycopg.errors.LockNotAvailable:
        return False


def _drop_but_tails(connection: psycopg.Connection, monthly: Monthly, month: Month) -> bool:
    """A meter that has been silent since goes on from its last segment: such rows move into a new partition."""
    name = monthly.partition(month)
    partition = sql.Identifier(name)
    connection.execute(
        sql.SQL(
            "CREATE TEMP TABLE tails ON COMMIT DROP AS SELECT g.* FROM profile_series s CROSS JOIN LATERAL ("
            "SELECT * FROM {} g WHERE g.meter = s.meter AND g.direction = s.direction AND g.slot = s.tail OFFSET 0) g "
            "WHERE s.tail >= {} AND s.tail < {}"
        ).format(partition, monthly.bound(month), monthly.bound(later(month, 1)))
    )
    (kept,) = connection.execute("SELECT count(*) FROM tails").fetchone() or (0,)
    if kept:
        there = connection.execute(
            sql.SQL("SELECT count(*) FROM (SELECT FROM {} LIMIT {}) x").format(partition, kept + 1)
        )
        if there.fetchone() == (kept,):
            connection.execute("DROP TABLE tails")
            return False  # nothing else has been in it since the last call
    connection.execute(sql.SQL("DROP TABLE {}").format(partition))
    if kept:
        create_partition(connection, monthly, month)
        connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM tails").format(partition))
        attach_partition(connection, monthly, month)
    connection.execute("DROP TABLE tails")
    return True


def _delete_rows(connection: psycopg.Connection, first: Month) -> int:
    time = datetime(first.year, first.month, 1, tzinfo=UTC)
    values = {"time": time, "ms": round(time.timestamp()) * 1000}
    return sum(
        connection.execute(f"DELETE FROM {table} WHERE {old}".encode(), values).rowcount  # noqa: S608
        for table, old in _SMALL
    )
