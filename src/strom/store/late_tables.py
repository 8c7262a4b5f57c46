"""Readings that came too late for the quarter-hours, as the table keeps them: of each meter the newest, the lake has all."""

from collections.abc import Iterable, Sequence
from typing import Any

from strom.store.asking import asking
from strom.store.profile_tables import moment
from strom.store.writes import Work, columns_of, texts_of

MOST_OF_A_METER = 10_000  # a clock that stands years ago brings 17,000 a day
LateRow = tuple[Any, ...]  # meter, at, received (epoch ms), origin, the reading as JSON text


def save_late(work: Work, rows: Sequence[LateRow]) -> int:
    """Keep each once, and of each meter the newest; returns how many are new."""
    work.stage(
        "new_late",
        "LIKE late_readings",
        ((meter, moment(at), moment(received), *rest) for meter, at, received, *rest in rows),
    )
    ((added,),) = work.rows(
        "WITH added AS (INSERT INTO late_readings SELECT * FROM new_late ON CONFLICT DO NOTHING RETURNING 1) "
        "SELECT count(*) FROM added"
    )
    _drop_oldest(work, {meter for meter, *_ in rows})
    return int(added)


def _drop_oldest(work: Work, meters: Iterable[str]) -> None:
    """In the order of the key, which finds the first row beyond the limit without sorting."""
    work.execute(
        "DELETE FROM late_readings l USING unnest(%s::text[]) AS k(meter) CROSS JOIN LATERAL ("
        "SELECT at, received, origin FROM late_readings r WHERE r.meter = k.meter "
        "ORDER BY r.meter DESC, at DESC, received DESC, origin DESC OFFSET %s LIMIT 1) o "
        "WHERE l.meter = k.meter AND (l.at, l.received, l.origin) <= (o.at, o.received, o.origin)",
        *(texts_of(meters), MOST_OF_A_METER),
    )


def least_lag(work: Work, late_ms: int) -> int | None:
    """How long after its time the earliest of those came that this limit would not set aside; None: there are none."""
    ((least,),) = work.rows(
        "SELECT (extract(epoch FROM min(received - at)) * 1000)::bigint FROM late_readings "
        "WHERE received - at <= make_interval(secs => %s)",
        late_ms / 1000,
    )
    return None if least is None else int(least)


def drop_late(work: Work, rows: Iterable[LateRow]) -> int:
    """Forget these (meter, at, received, origin), of which some may not be there; returns how many were."""
    ((gone,),) = work.rows(
        "WITH gone AS (DELETE FROM late_readings l USING "
        "unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[]) AS n(meter, at, received, origin) "
        "WHERE l.meter = n.meter AND l.at = 'epoch'::timestamptz + n.at * interval '1 ms' AND l.received = "
        "'epoch'::timestamptz + n.received * interval '1 ms' AND l.origin = n.origin RETURNING 1) "
        "SELECT count(*) FROM gone",
        *columns_of(rows, 4),
    )
    return int(gone)


def late_counts(url: str) -> list[tuple[Any, ...]]:
    """Per meter: how many, the earliest and the latest time, the last arrival; the most first."""
    with asking(url) as connection:
        return connection.execute(
            "SELECT meter, count(*), min(at), max(at), max(received) FROM late_readings GROUP BY meter ORDER BY 2 DESC, 1"
        ).fetchall()


def late_readings(url: str, meter: str | None, limit: int) -> list[tuple[Any, ...]]:
    """The last to arrive first, as (arrival, reading)."""
    with asking(url) as connection:
        return connection.execute(
            "SELECT received, origin, reading FROM late_readings WHERE %(meter)s::text IS NULL OR meter = %(meter)s "
            "ORDER BY received DESC, origin LIMIT %(limit)s",
            {"meter": meter, "limit": limit},
        ).fetchall()
