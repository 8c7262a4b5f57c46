"""Puts a set of tables that a replay has built in the place of the live one, in one transaction.

Tables change their schema and keep their identity; views and functions are made anew, since they look up the tables by
name. What nobody can compute again (`KEPT`, and what people entered about meters) stays.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count

import psycopg

from strom.errors import StromError
from strom.store.grants import copy_grants
from strom.store.partitions import forget_partitions
from strom.store.replay_tables import SWAPPED, Progress, load_progress, save_progress
from strom.store.schema import connect, ensure_schema, schema_script
from strom.store.writes import EXECUTOR, PIPELINE, WORK_LOCK, Work

# Every table of schema.sql is in one of the two lists.
REPLAYED = (
    "meters", "readings_latest", "load_profile", "slot_statistics", "gaps", "tariff_profile", "tariff_gaps", "alerts",
    "late_readings", "pipeline_marks", "lake_positions", "lake_shards", "waiting_meters", "settled_meters", "meter_states", "profile_series", "profile_segments", "voltage_windows", "runs", "clock_windows",
    "pipeline_replays",
)  # fmt: skip
KEPT = ("alert_deliveries", "alert_outlets")

_COMPUTED = (
    "meter",
    "meter_number",
    "interval_s",
    "first_seen",
    "number_at",
)  # of `meters`; people enter the rest
_NUMBERS = "import_wh, export_wh, quality, samples, flags, import_quality, export_quality, import_samples, export_samples"
_VERSIONED = {"load_profile": ("meter", "start"), "tariff_profile": ("meter", "tariff", "start")}
_LOCK_SECONDS = 30
_LEAVING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Swapped:
    """Where the former tables are now, and how many quarter-hours differ."""

    former: str
    changed: int


def swap(
    url: str,
    live: str,
    new: str,
    *,
    shorter: bool = False,
    tell: Callable[[Work, str, str], None] = lambda work, live, new: None,
) -> Swapped:
    """`url` must not choose a schema. `tell` is asked while both sets are as they were, before all is committed."""
    try:
        with connect(url) as connection:
            _refuse_missing(connection, new)
        ensure_schema(_in_schema(url, new))  # a set that an older Strom has built gets what is new
        with connect(url) as connection, connection.transaction():
            swapped = _swap(connection, live, new, shorter, tell)
        forget_partitions()
        return swapped
    except psycopg.errors.LockNotAvailable:
        raise StromError(
            f"somebody has been reading the tables for more than {_LOCK_SECONDS} s; try again in a moment.",
            exit_code=1,
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        reason = str(error).splitlines()[0]
        raise StromError(
            f"Postgres does not let this user swap the tables ({reason}); run it as their owner."
        ) from None


def _swap(
    connection: psycopg.Connection, live: str, new: str, shorter: bool, tell: Callable[[Work, str, str], None]
) -> Swapped:
    work = Work(connection)
    work.execute("SET LOCAL client_min_messages = warning")
    for name in sorted((live, new)):
        work.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", WORK_LOCK, name)
    progress = _refuse(work, live, new, shorter)
    _carry_master_data(work, live, new)
    changed = _carry_versions(work, live, new)
    tell(work, live, new)
    work.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
    _carry_rights(connection, live, new)
    former = _unused(work, f"{live}_before_{datetime.now(UTC):%Y%m%d_%H%M%S}")
    _exchange(work, live, new)
    work.execute(_sql("ALTER SCHEMA {} RENAME TO {}", new, former))
    for schema in (former, live):
        work.execute(_sql("SET LOCAL search_path = {}", schema))
        connection.execute(schema_script())
    work.execute(_sql("SET LOCAL search_path = {}", former))
    save_progress(work, Progress(SWAPPED, "lake", progress.lake_version, "", 0, True, True))
    return Swapped(former, changed)


def _unused(work: Work, name: str) -> str:
    """This name, or with a number where two swaps fell into the same second."""
    taken = {schema for (schema,) in work.rows("SELECT nspname FROM pg_namespace")}
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(each for each in names if each not in taken)


def _refuse_missing(connection: psycopg.Connection, new: str) -> None:
    if connection.execute("SELECT to_regnamespace(quote_ident(%s))", (new,)).fetchone() == (None,):
        raise StromError(f"there is no schema {new}; `strom pipeline replay --into {new}` builds one.")


def _is_written(work: Work) -> bool:
    """Whether a pipeline is connected, or a shard of one under way; one that has just gone may be in the server's list for a moment.

    Executors keep their connections for a while, which do nothing without a pipeline.
    """
    deadline = time.monotonic() + _LEAVING_SECONDS
    while work.rows(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND (application_name = %s OR (application_name = %s AND xact_start IS NOT NULL))",
        *(PIPELINE, EXECUTOR),
    ):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.1)
        work.execute("SELECT pg_stat_clear_snapshot()")
    return False


def _refuse(work: Work, live: str, new: str, shorter: bool) -> Progress:
    """Nothing may be lost: not a reading that came meanwhile, and no past that the lake does not have any more."""
    if new == live:
        raise StromError(
            f"{live} holds the live tables already; name the schema that shall take their place."
        )
    if _is_written(work):
        raise StromError("the pipeline is writing these tables; stop it, swap, and start it again.")
    work.execute(_sql("SET LOCAL search_path = {}", new))
    found = load_progress(work)
    if not found or not found[0].complete or not found[0].whole:
        raise StromError(
            f"{new} does not hold a whole replay; run `strom pipeline replay --into {new}` to its end first."
        )
    marks = "SELECT topic, raw_partition, partition, raw_offset, received FROM {}.pipeline_marks WHERE job = 'lake'"
    if work.rows(_sql(f"({marks} EXCEPT {marks}) UNION ALL ({marks} EXCEPT {marks})", live, new, new, live)):
        raise StromError(
            f"readings came since {new} was built; run `strom pipeline replay --into {new}` once more, it is quick."
        )
    late = (
        "SELECT count(*) FROM {0}.meters m WHERE (SELECT min(start) FROM {0}.load_profile l WHERE l.meter = m.meter) \
        < coalesce((SELECT min(start) FROM {1}.load_profile l WHERE l.meter = m.meter), 'infinity')"
    )
    ((missing,),) = work.rows(late.format(_quoted(live), _quoted(new)))
    if missing and not shorter:
        raise StromError(
            f"the quarter-hours of {missing} meters begin later in {new} than now, since the lake does not reach back "
            "as far; swap with --shorter if that is meant."
        )
    return found[0]


def _carry_master_data(work: Work, live: str, new: str) -> None:
    """What people entered about meters, also about those that the new tables have not heard."""
    rows = work.rows(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = 'meters'",
        new,
    )
    entered = [_quoted(name) for (name,) in rows if name not in _COMPUTED]
    if entered:
        names = ", ".join(entered)
        query = (
            f"INSERT INTO {{0}}.meters (meter, {names}) SELECT meter, {names} FROM {{1}}.meters o "  # noqa: S608
            f"WHERE num_nonnulls({names}) > 0 OR EXISTS (SELECT FROM {{0}}.meters n WHERE n.meter = o.meter) "
            f"ON CONFLICT (meter) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in entered)}"
        )
        work.execute(_sql(query, new, live))


def _carry_versions(work: Work, live: str, new: str) -> int:
    """A version grows where the numbers changed and nowhere else; returns how many of the totals differ."""
    changed = {table: _carried(work, live, new, table, key) for table, key in _VERSIONED.items()}
    return changed["load_profile"]


def _carried(work: Work, live: str, new: str, table: str, key: tuple[str, ...]) -> int:
    """Returns how many rows are new, changed or gone."""
    old, now = (", ".join(f"{each}.{name}" for name in _NUMBERS.split(", ")) for each in ("o", "n"))
    same = " AND ".join(f"o.{name} = n.{name}" for name in key)
    raised = (
        f"UPDATE {{}}.{table} n SET version = o.version + (({old}) IS DISTINCT FROM ({now}))::int "  # noqa: S608
        f"FROM {{}}.{table} o WHERE {same}"
    )
    work.execute(_sql(raised, new, live))
    ((changed,),) = work.rows(
        _sql(
            f"SELECT count(*) FROM {{}}.{table} n FULL JOIN {{}}.{table} o USING ({', '.join(key)}) "  # noqa: S608
            "WHERE n.version IS DISTINCT FROM o.version",
            new,
            live,
        )
    )
    return int(changed)


def _carry_rights(connection: psycopg.Connection, live: str, new: str) -> None:
    """Who may read the live tables may read those that take their place."""
    for table in REPLAYED:
        copy_grants(connection, _sql("{}.{}", live, table), _sql("{}.{}", new, table))


def _exchange(work: Work, live: str, new: str) -> None:
    between = f"{new}_between"
    work.execute(_sql("CREATE SCHEMA {}", between))
    for source, target in ((new, between), (live, new), (between, live)):
        for table in _with_partitions(work, source):
            work.execute(_sql("ALTER TABLE {}.{} SET SCHEMA {}", source, table, target))
    work.execute(_sql("DROP SCHEMA {}", between))


def _with_partitions(work: Work, schema: str) -> list[str]:
    """The tables and their partitions, which do not follow them by themselves."""
    partitions = work.rows(
        "SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid JOIN pg_class t ON t.oid = i.inhparent "
        "WHERE t.relnamespace = %s::regnamespace AND t.relkind = 'p' AND t.relname = ANY(%s) ORDER BY 1",
        *(_quoted(schema), list(REPLAYED)),
    )
    return [*REPLAYED, *(name for (name,) in partitions)]


def _sql(query: str, *names: str) -> str:
    return query.format(*map(_quoted, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_schema(url: str, schema: str) -> str:
    return psycopg.conninfo.make_conninfo(url, options=f"-c search_path={schema}")
