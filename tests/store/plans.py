"""What Postgres did with the look-ups: which partitions it touched, and how."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from strom.store.writes import PLANNING, Work

BIG = ("load_profile", "slot_statistics", "profile_segments")


@dataclass(frozen=True)
class Scan:
    """One that was carried out; those that were pruned are left out."""

    node: str
    table: str
    month: str
    index: str


class ExplainedWork(Work):
    """Carries out each statement under a plan that was made without its values, and notes the scans of the big tables."""

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(connection)
        connection.execute(PLANNING)
        connection.execute("SET plan_cache_mode = force_generic_plan")
        self._prepared: dict[str, str] = {}
        self.scans: list[Scan] = []

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        self._explain(query, values)
        return super().rows(query, *values)

    def execute(self, query: str, *values: Any) -> None:
        self._explain(query, values)

    def _explain(self, query: str, values: tuple[Any, ...]) -> None:
        """A statement that is met again has the plan that was made for it the first time."""
        if query not in self._prepared:
            name = self._prepared[query] = f"q{len(self._prepared)}"
            numbers = iter(range(1, query.count("%s") + 1))
            self._connection.execute(
                f"PREPARE {name} AS {re.sub('%s', lambda _: f'${next(numbers)}', query)}".encode()
            )
        places = ", ".join(["%s"] * len(values))
        call = f"{self._prepared[query]}({places})" if values else self._prepared[query]
        cursor = psycopg.ClientCursor(self._connection)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {call}".encode(), values)
        ((found,),) = cursor.fetchall()
        self.scans += _scans(found[0]["Plan"])


def _scans(plan: dict[str, Any]) -> Iterator[Scan]:
    if plan["Actual Loops"] and "Scan" in plan["Node Type"]:
        match = re.fullmatch(rf"({'|'.join(BIG)})_(\d{{4}}_\d\d)(?:_(.*))?", plan.get("Relation Name", ""))
        if match:
            yield Scan(plan["Node Type"], match[1], match[2], _index(plan))
    for below in plan.get("Plans", ()):
        yield from _scans(below)


def _index(plan: dict[str, Any]) -> str:
    """Of a bitmap that of the nodes below, which have made it."""
    own = plan.get("Index Name")
    return str(own) if own else " ".join(_index(below) for below in plan.get("Plans", ()))


def fill(connection: psycopg.Connection, meters: int, days: Iterable[str]) -> None:
    """A row a meter at noon of these days in each of the big tables."""
    values = {"meters": meters, "days": list(days)}
    for query in (
        "INSERT INTO load_profile (meter, start, import_wh, quality, samples, import_quality, import_samples) "
        "SELECT 'm' || m, d::date + time '12:00', 1, 'measured', 180, 'measured', 180 "
        "FROM unnest(%(days)s::text[]) d, generate_series(1, %(meters)s) m",
        "INSERT INTO slot_statistics SELECT 'm' || m, d::date + time '12:00', "
        "'{1,0,0,0,0}', '{1,0,0,0,0}', '{1,0,0,0,0}', '{1,0,0,0,0}' "
        "FROM unnest(%(days)s::text[]) d, generate_series(1, %(meters)s) m",
        "INSERT INTO profile_segments SELECT 'm' || m, 'import', extract(epoch FROM d::date + time '12:00') * 1000, "
        "extract(epoch FROM d::date + time '12:00') * 1000, extract(epoch FROM d::date + time '12:00') * 1000, "
        "4, 5, 6, 7, 'exact', NULL, NULL, NULL, false, false, '{}', 7, NULL, NULL "
        "FROM unnest(%(days)s::text[]) d, generate_series(1, %(meters)s) m",
    ):
        connection.execute(query.encode(), values)
