"""Divides tables of an older Strom, which had no partitions, by month; part of the transaction of `ensure_schema`.

The rows are copied once, into partitions without indexes; those are built afterwards, which is several times as fast. If
it is interrupted, the old tables are as they were.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from strom.errors import StromError
from strom.store.grants import copy_grants
from strom.store.partitions import (
    MONTHLY,
    Month,
    Monthly,
    attach_partition,
    for_values,
    month_of,
    partitions_of,
)

_OWN_VIEWS = ("quarter_hours",)  # the script makes them anew

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Undivided:
    """A table of the old form, out of the way of the new one under another name."""

    monthly: Monthly
    name: str
    columns: tuple[str, ...]


def take_undivided(connection: psycopg.Connection) -> list[Undivided]:
    """Before the script: put old tables out of the way, without their indexes, whose names the new ones need."""
    found = [monthly for monthly in MONTHLY if _is_plain(connection, monthly.table)]
    for monthly in found:
        _refuse_dependents(connection, monthly.table)
    return [_take(connection, monthly) for monthly in found]


def divide(connection: psycopg.Connection, tables: Sequence[Undivided]) -> None:
    """After the script: take the rows of the old tables over, and drop these."""
    if not tables:
        return
    log.info(
        "Postgres: dividing %s by month; this is done once and may take minutes",
        ", ".join(old.monthly.table for old in tables),
    )
    connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
    for old in tables:
        began = time.monotonic()
        months = _months(connection, old)
        rows = _move(connection, old, months)
        log.info(
            "Postgres: %s: %s rows are in %d months now, after %.0f s",
            old.monthly.table,
            f"{rows:,}",
            len(months),
            time.monotonic() - began,
        )
        copy_grants(connection, old.name, old.monthly.table)
        connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(old.name)))


def _is_plain(connection: psycopg.Connection, table: str) -> bool:
    query = "SELECT FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = %s AND relkind = 'r'"
    return connection.execute(query, (table,)).fetchone() is not None


def _refuse_dependents(connection: psycopg.Connection, table: str) -> None:
    """Somebody's own view would go on reading the old table."""
    found = connection.execute(
        "SELECT DISTINCT r.ev_class::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid "
        "JOIN pg_class c ON c.oid = r.ev_class WHERE d.classid = 'pg_rewrite'::regclass "
        "AND d.refobjid = to_regclass(%s) AND c.relname <> ALL(%s) ORDER BY 1",
        (table, list(_OWN_VIEWS)),
    ).fetchall()
    if found:
        names = ", ".join(name for (name,) in found)
        raise StromError(
            f"{table} is to be divided by month, but views of your own read it ({names}): drop them, start again, and "
            "make them anew."
        )


def _take(connection: psycopg.Connection, monthly: Monthly) -> Undivided:
    name = f"{monthly.table}_undivided"
    connection.execute(
        sql.SQL("ALTER TABLE {} RENAME TO {}").format(sql.Identifier(monthly.table), sql.Identifier(name))
    )
    constraints = connection.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(%s) AND contype IN ('p', 'u')",
        (name,),
    )
    for (constraint,) in constraints.fetchall():
        connection.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(
                sql.Identifier(name), sql.Identifier(constraint)
            )
        )
    indexes = connection.execute(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = to_regclass(%s)", (name,)
    )
    for (index,) in indexes.fetchall():
        connection.execute(f"DROP INDEX {index}".encode())  # regclass has quoted the name
    columns = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
        "ORDER BY attnum",
        (name,),
    )
    return Undivided(monthly, name, tuple(column for (column,) in columns.fetchall()))


def _months(connection: psycopg.Connection, old: Undivided) -> list[Month]:
    """Those that there are rows of, in order."""
    column = sql.Identifier(old.monthly.column)
    time_of = sql.SQL("to_timestamp({} / 1000.0)" if old.monthly.epoch_ms else "{}").format(column)
    rows = connection.execute(
        sql.SQL("SELECT DISTINCT extract(epoch FROM date_trunc('month', {}, 'UTC'))::bigint FROM {}").format(
            time_of, sql.Identifier(old.name)
        )
    ).fetchall()
    return sorted(month_of(seconds * 1000) for (seconds,) in rows)


def _move(connection: psycopg.Connection, old: Undivided, months: Sequence[Month]) -> int:
    """Fill partitions of a passing table, which has no index, and attach them to the one that stays."""
    monthly, passing = old.monthly, sql.Identifier(f"{old.monthly.table}_passing")
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ({})"
        ).format(passing, sql.Identifier(monthly.table), sql.Identifier(monthly.column))
    )
    there = partitions_of(connection, monthly)
    if there:
        raise AssertionError(f"{monthly.table} has partitions before it is filled")
    for month in months:
        connection.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} ").format(
                sql.Identifier(monthly.partition(month)), passing
            )
            + for_values(monthly, month)
            + sql.SQL(" WITH (fillfactor = {})").format(monthly.fillfactor)
        )
    columns = sql.SQL(", ").join(map(sql.Identifier, old.columns))
    copied = connection.execute(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
            passing, columns, columns, sql.Identifier(old.name)
        )
    ).rowcount
    for month in months:
        partition = sql.Identifier(monthly.partition(month))
        connection.execute(sql.SQL("ALTER TABLE {} DETACH PARTITION {}").format(passing, partition))
        attach_partition(connection, monthly, month)
    connection.execute(sql.SQL("DROP TABLE {}").format(passing))
    return copied
