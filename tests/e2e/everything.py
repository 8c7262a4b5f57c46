"""All that people and programs see of a pipeline, row by row, in a form that two runs can be compared in."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg import sql
from pyspark.sql import SparkSession

from strom.domain.alerts import SILENT
from strom.settings import Settings
from strom.store.profile_tables import millis
from strom.store.schema import connect
from strom.streams import topics
from tests.e2e.way import outcomes, records

TABLES = (
    "load_profile", "gaps", "tariff_profile", "tariff_gaps", "slot_statistics", "alerts", "late_readings", "readings_latest",
    "meters",
)  # fmt: skip
COMPACTED = (topics.LOAD_PROFILE, topics.METERS)

# How a run was cut into batches shows in these, and only in these: how often a quarter-hour was told anew, and what
# the push interval was taken for before all of the meter's messages were known.
BY_BATCHES = frozenset({"version", "expected", "interval_s"})

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Everything:
    tables: dict[str, Rows]
    topics: dict[str, dict[str, Any]]  # the last value of each key
    outcomes: dict[str, tuple[str, Any]]  # of each raw record, its topic and value
    lake: Rows


def everything(settings: Settings, spark: SparkSession) -> Everything:
    """What there is now."""
    return Everything(
        tables={name: _table(settings, name) for name in TABLES},
        topics={name: _last_values(settings, name) for name in COMPACTED},
        outcomes={
            origin: (outcome.topic, _value(outcome.value)) for origin, outcome in outcomes(settings).items()
        },
        lake=_lake(settings, spark),
    )


def assert_same(found: Everything, expected: Everything) -> None:
    """Part by part, so that a difference is told where it is."""
    assert found.outcomes == expected.outcomes
    assert found.lake == expected.lake
    for name in TABLES:
        assert found.tables[name] == expected.tables[name], name
    for name in COMPACTED:
        assert found.topics[name] == expected.topics[name], name


def whatever_the_batches(found: Everything) -> Everything:
    """What is left to compare of runs that were cut into other batches.

    Whether a meter was silent depends on what its push interval was taken for at that moment, too.
    """
    tables = {name: _all_lean(rows, BY_BATCHES) for name, rows in found.tables.items()}
    tables["alerts"] = [alert for alert in tables["alerts"] if alert["kind"] != SILENT]
    told = {
        name: {key: _lean(value, BY_BATCHES) for key, value in values.items()}
        for name, values in found.topics.items()
    }
    return replace(found, tables=tables, topics=told)


def alerts_as_told(settings: Settings) -> Rows:
    """What the topic said last of each alert that it did not withdraw, in the form of the table's rows."""
    told = {
        value["id"]: value
        for record in records(settings, topics.ALERTS)
        if (value := _value(record.value or b"null"))
    }
    rows = [_lean(value, ("v", "withdrawn")) for value in told.values() if not value.get("withdrawn")]
    absent = {"part": "", "ended": None, "value": None}
    return _all_lean([_timed(absent | row) for row in rows if row["kind"] != SILENT], ())


def alerts_as_stored(settings: Settings) -> Rows:
    return _all_lean([_timed(row) for row in _table(settings, "alerts") if row["kind"] != SILENT], ())


def _timed(alert: dict[str, Any]) -> dict[str, Any]:
    """Topic and table write times and numbers differently."""
    times = {
        name: alert[name] and millis(datetime.fromisoformat(alert[name])) for name in ("started", "ended")
    }
    numbers = {name: None if alert[name] is None else float(alert[name]) for name in ("value", "threshold")}
    return alert | times | numbers


def _table(settings: Settings, name: str) -> Rows:
    with connect(settings.postgres_url) as connection:
        query = sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(name))
        rows = connection.execute(query).fetchall()
    return _all_lean([row[0] for row in rows], ())


def _last_values(settings: Settings, topic: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for record in records(settings, topic):
        found[(record.key or b"").decode()] = _value(record.value or b"null")
    return {key: value for key, value in found.items() if value is not None}


def _lake(settings: Settings, spark: SparkSession) -> Rows:
    rows = spark.read.format("delta").load(f"{settings.lake_root}/{topics.READINGS}").collect()
    return sorted((row.asDict() for row in rows), key=lambda row: str(row["origin"]))


def _all_lean(rows: Rows, without: Collection[str]) -> Rows:
    return sorted((_lean(row, without) for row in rows), key=lambda row: json.dumps(row, sort_keys=True))


def _lean(row: dict[str, Any], without: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in without}


def _value(body: bytes) -> Any:
    """As JSON where it is JSON; a dead letter is what it is."""
    try:
        return json.loads(body, parse_float=str)
    except ValueError:
        return body
