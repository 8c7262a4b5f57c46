"""Runs of readings under a condition, as the table holds them; knows no condition."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from strom.domain.runs import Run
from strom.store.writes import Work, columns_of, texts_of

Key = tuple[str, str, str]  # meter, kind, part

_FIELDS = "r.meter, r.kind, r.part, r.start, r.last, r.worst, r.until"


def load_open_runs(work: Work, meters: Iterable[str]) -> dict[Key, Run]:
    found = work.rows(
        f"SELECT r.* FROM unnest(%s::text[]) AS k(meter) CROSS JOIN LATERAL (SELECT {_FIELDS} FROM runs r "  # noqa: S608
        "WHERE r.meter = k.meter AND r.until IS NULL OFFSET 0) r",
        texts_of(meters),
    )
    return {(meter, kind, part): Run(*rest) for meter, kind, part, *rest in found}


def load_runs(work: Work, since: Iterable[tuple[str, int]]) -> dict[Key, list[Run]]:
    """Those of these meters that a reading at the given time or later could touch."""
    rows = work.rows(
        "SELECT r.* FROM unnest(%s::text[], %s::bigint[]) AS k(meter, since) CROSS JOIN LATERAL ("  # noqa: S608
        f"SELECT {_FIELDS} FROM runs r WHERE r.meter = k.meter AND (r.until IS NULL OR r.until >= k.since) OFFSET 0) r",
        *columns_of(since, 2),
    )
    found: defaultdict[Key, list[Run]] = defaultdict(list)
    for meter, kind, part, *rest in rows:
        found[meter, kind, part].append(Run(*rest))
    return dict(found)


def save_runs(work: Work, runs: Mapping[Key, Sequence[Run]], replaced: Iterable[tuple[Key, int]]) -> None:
    """`replaced`: stored runs of this key that begin at this time or later are void."""
    work.execute(
        "DELETE FROM runs r USING unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) AS k(meter, kind, part, since) "
        "WHERE r.meter = k.meter AND r.kind = k.kind AND r.part = k.part AND r.start >= k.since",
        *columns_of(((*key, since) for key, since in replaced), 4),
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
