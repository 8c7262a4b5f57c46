"""Tells by the catalog alone whether the tables of the contract are there in their present form; waits for nobody.

The hash of the script that has made them is the comment of one of the tables: it goes with the tables where a replay moves
them, and reading it takes no lock on any of them.
"""

import hashlib
import re

import psycopg
from psycopg import sql

_BEARER = "meters"
_MADE = re.compile(
    r"^CREATE (?:TABLE IF NOT EXISTS|INDEX IF NOT EXISTS|OR REPLACE VIEW|OR REPLACE FUNCTION) (\w+)", re.M
)


def is_present(connection: psycopg.Connection, script: bytes) -> bool:
    """Whether this script has made what is in the current schema, and all of it is still there."""
    found = connection.execute(
        "SELECT obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relname = %s",
        (_BEARER,),
    ).fetchone()
    return found == (_remark(script),) and not _missing(connection, script)


def note_present(connection: psycopg.Connection, script: bytes) -> None:
    """It has just been run."""
    connection.execute(
        sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(_BEARER), sql.Literal(_remark(script)))
    )


def _remark(script: bytes) -> str:
    return f"made by schema.sql {hashlib.sha256(script).hexdigest()}"


def _missing(connection: psycopg.Connection, script: bytes) -> set[str]:
    """What the script makes and somebody has dropped since."""
    names = sorted(set(_MADE.findall(script.decode())))
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relname = ANY(%(names)s) "
        "UNION ALL SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = current_schema() AND p.proname = ANY(%(names)s)",
        {"names": names},
    )
    return set(names) - {name for (name,) in rows.fetchall()}
