"""Runs of readings under a condition, as the table holds them; knows no condition."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from strom.domain.runs import Run
from strom.store.writes import Work

Key = tuple[str, str, str]  # meter, kind, part

_FIELDS = "r.meter, r.kind, r.part, r.start, r.last, r.worst, r.until"


def load_open_runs(work: Work, meters: Iterable[str]) -> dict[Key, Run]:
    work.stage("touched_meters", "meter text", ((meter,) for meter in meters))
    found = work.rows(
        f"SELECT {_FIELDS} FROM touched_meters JOIN runs r USING (meter) WHERE r.until IS NULL"  # noqa: S608
    )
    return {(meter, kind, part): Run(*rest) for meter, kind, part, *rest in found}


def load_runs(work: Work, since: Iterable[tuple[str, int]]) -> dict[Key, list[Run]]:
    """Those of these meters that a reading at the given time or later could touch."""
    work.stage("run_spans", "meter text, since bigint", since)
    rows = work.rows(
        f"SELECT {_FIELDS} FROM run_spans s JOIN runs r USING (meter) "  # noqa: S608
        "WHERE r.until IS NULL OR r.until >= s.since"
    )
    found: defaultdict[Key, list[Run]] = defaultdict(list)
    for meter, kind, part, *rest in rows:
        found[meter, kind, part].append(Run(*rest))
    return dict(found)


def save_runs(work: Work, runs: Mapping[Key, Sequence[Run]], replaced: Iterable[tuple[Key, int]]) -> None:
    """`replaced`: stored runs of this key that begin at this time or later are void."""
    work.stage(
        "void_runs",
        "meter text, kind text, part text, since bigint",
        ((*key, since) for key, since in replaced),
    )
    work.execute(
        "DELETE FROM runs r USING void_runs v "
        "WHERE r.meter = v.meter AND r.kind = v.kind AND r.part = v.part AND r.start >= v.since"
    )
    work.stage(
        "new_runs",
        "LIKE runs",
        ((*key, run.start, run.last, run.worst, run.until) for key, own in runs.items() for run in own),
    )
    work.execute(
        "INSERT INTO runs SELECT * FROM new_runs ON CONFLICT (meter, kind, part, start) DO UPDATE "
        "SET last = excluded.last, worst = excluded.worst, until = excluded.until"
    )
