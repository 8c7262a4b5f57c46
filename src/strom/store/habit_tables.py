"""What the quarter-hours tell about habits; every look-up is by meter and time, so that its cost does not grow with the history.

The subqueries are LATERAL so that Postgres goes through the index for each span, whatever it thinks of their number.
"""

from collections.abc import Iterable
from decimal import Decimal

from strom.domain.habits import Span
from strom.store.profile_tables import millis
from strom.store.writes import Work, columns_of, texts_of

SpanKey = tuple[str, int]  # meter and start of the span

LEAST_IMPORT = "min(l.import_wh), count(l.import_wh)"
SUM_EXPORT = "sum(l.export_wh), count(l.export_wh)"
_TIME = "'epoch'::timestamptz + {} * interval '1 ms'"
_SPANS = (
    f"(SELECT meter, {_TIME.format('since')} AS since, {_TIME.format('until')} AS until "  # noqa: S608
    "FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS u(meter, since, until)) s"
)


def last_slots(work: Work, meters: Iterable[str]) -> dict[str, int]:
    """The last quarter-hour of each meter."""
    found = work.rows(
        "SELECT k.meter, x.start FROM unnest(%s::text[]) AS k(meter) CROSS JOIN LATERAL ("
        "SELECT l.start FROM load_profile l WHERE l.meter = k.meter ORDER BY l.start DESC LIMIT 1) x",
        texts_of(meters),
    )
    return {meter: millis(start) for meter, start in found}


def high_imports(work: Work, since: Iterable[tuple[str, int, int]]) -> dict[str, dict[int, int]]:
    """Quarter-hours of each meter from a time on with more import (mWh) than given."""
    rows = work.rows(
        "SELECT s.meter, x.start, x.import_wh FROM ("  # noqa: S608
        f"SELECT meter, {_TIME.format('since')} AS since, over FROM "
        "unnest(%s::text[], %s::bigint[], %s::numeric[]) AS u(meter, since, over)) s CROSS JOIN LATERAL ("
        "SELECT l.start, l.import_wh FROM load_profile l "
        "WHERE l.meter = s.meter AND l.start >= s.since AND l.import_wh > s.over OFFSET 0) x",
        *columns_of(((meter, start, Decimal(over).scaleb(-3)) for meter, start, over in since), 3),
    )
    found: dict[str, dict[int, int]] = {}
    for meter, start, wh in rows:
        found.setdefault(meter, {})[millis(start)] = _mwh(wh)
    return found


def imports_in(work: Work, spans: Iterable[tuple[str, Span]]) -> dict[SpanKey, list[int]]:
    """The imports (mWh) of the quarter-hours in each span."""
    rows = work.rows(
        f"SELECT s.meter, s.since, x.import_wh FROM {_SPANS} CROSS JOIN LATERAL ("  # noqa: S608
        "SELECT l.import_wh FROM load_profile l WHERE l.meter = s.meter AND l.start >= s.since "
        "AND l.start < s.until AND l.import_wh IS NOT NULL OFFSET 0) x",
        *_spans(spans),
    )
    found: dict[SpanKey, list[int]] = {}
    for meter, since, wh in rows:
        found.setdefault((meter, millis(since)), []).append(_mwh(wh))
    return found


def sums_in(work: Work, what: str, spans: Iterable[tuple[str, Span]]) -> dict[SpanKey, tuple[int, int]]:
    """One of the sums above (mWh) over each span, and how many quarter-hours told it."""
    rows = work.rows(
        f"SELECT s.meter, s.since, x.* FROM {_SPANS} CROSS JOIN LATERAL (SELECT {what} "  # noqa: S608
        "FROM load_profile l WHERE l.meter = s.meter AND l.start >= s.since AND l.start < s.until) x",
        *_spans(spans),
    )
    return {
        (meter, millis(since)): (_mwh(energy), count)
        for meter, since, energy, count in rows
        if energy is not None
    }


def exporters(work: Work, spans: Iterable[tuple[str, Span]]) -> set[str]:
    """Those of the meters that exported anything in the span."""
    found = work.rows(
        f"SELECT DISTINCT s.meter FROM {_SPANS} CROSS JOIN LATERAL (SELECT FROM load_profile l "  # noqa: S608
        "WHERE l.meter = s.meter AND l.start >= s.since AND l.start < s.until AND l.export_wh > 0 LIMIT 1) x",
        *_spans(spans),
    )
    return {meter for (meter,) in found}


def _spans(spans: Iterable[tuple[str, Span]]) -> list[str]:
    return columns_of(((meter, since, until) for meter, (since, until) in spans), 3)


def _mwh(wh: Decimal) -> int:
    return int(wh.scaleb(3))
