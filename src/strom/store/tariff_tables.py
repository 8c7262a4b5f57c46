"""Quarter-hours and gaps of tariffs as the tables hold them: those of a meter's totals with one key column more."""

from collections.abc import Iterable, Mapping, Sequence

from strom.domain.tariffs import Tariff
from strom.store.profile_tables import (
    AFTER_ALL_MS,
    LOADED,
    REPLACED,
    GapHalves,
    StoredRow,
    gap_energies,
    gap_halves,
    loaded,
    millis,
    moment,
    replace_gaps,
    row_values,
)
from strom.store.writes import Work, columns_of

RowKey = tuple[Tariff, int]  # start
GapKey = tuple[Tariff, int, int]  # start, end

_TARIFF_TIMES = (
    "(SELECT meter, tariff, 'epoch'::timestamptz + ms * interval '1 ms' AS start "
    "FROM unnest(%s::text[], %s::smallint[], %s::bigint[]) AS u(meter, tariff, ms)) k"
)

_TARIFF_SPANS = (
    "(SELECT meter, tariff, 'epoch'::timestamptz + since * interval '1 ms' AS start, "
    "'epoch'::timestamptz + until * interval '1 ms' AS until "
    "FROM unnest(%s::text[], %s::smallint[], %s::bigint[], %s::bigint[]) AS u(meter, tariff, since, until)) k"
)


def load_rows(work: Work, spans: Iterable[tuple[Tariff, int, int | None]]) -> dict[RowKey, StoredRow]:
    """All rows of these tariffs from the given starts up to the given ends; None: to the last."""
    found = work.rows(
        f"SELECT l.* FROM {_TARIFF_SPANS} CROSS JOIN LATERAL ("  # noqa: S608 - names, no values
        f"SELECT l.meter, l.tariff, l.start, {LOADED} FROM tariff_profile l "
        "WHERE l.meter = k.meter AND l.tariff = k.tariff AND l.start >= k.start AND l.start < k.until OFFSET 0) l",
        *_tariff_spans(spans),
    )
    return {
        (Tariff(meter, number), millis(start)): loaded(meter, start, *rest)
        for meter, number, start, *rest in found
    }


def save_rows(work: Work, rows: Mapping[RowKey, StoredRow]) -> None:
    if not rows:
        return
    work.ensure_partitions(start for _, start in rows)
    values = ((*tariff, *row_values(row)[1:]) for (tariff, _), row in rows.items())
    work.stage("new_tariff_rows", "LIKE tariff_profile", values)
    work.execute(
        "INSERT INTO tariff_profile SELECT * FROM new_tariff_rows "  # noqa: S608 - names, no values
        f"ON CONFLICT (meter, tariff, start) DO UPDATE SET {REPLACED}"
    )


def delete_rows(work: Work, keys: Sequence[RowKey]) -> None:
    if not keys:
        return
    work.execute(
        f"DELETE FROM tariff_profile l USING {_TARIFF_TIMES} "  # noqa: S608 - names, no values
        "WHERE l.meter = k.meter AND l.tariff = k.tariff AND l.start = k.start",
        *_tariff_times(keys),
    )


def load_gaps(work: Work, spans: Iterable[tuple[Tariff, int, int | None]]) -> dict[GapKey, GapHalves]:
    """All gaps of these tariffs that begin at the given times or later, and before the given ends."""
    found = work.rows(
        f"SELECT g.* FROM {_TARIFF_SPANS} CROSS JOIN LATERAL ("  # noqa: S608 - names, no values
        'SELECT g.meter, g.tariff, g.start, g."end", g.import_wh, g.export_wh FROM tariff_gaps g '
        "WHERE g.meter = k.meter AND g.tariff = k.tariff AND g.start >= k.start AND g.start < k.until OFFSET 0) g",
        *_tariff_spans(spans),
    )
    return {
        (Tariff(meter, number), millis(start), millis(end)): gap_halves(imported, exported)
        for meter, number, start, end, imported, exported in found
    }


def save_gaps(work: Work, gaps: Mapping[GapKey, GapHalves]) -> None:
    """A gap without either direction is deleted."""
    replace_gaps(
        work,
        "tariff_gaps",
        "meter, tariff",
        [
            (*tariff, moment(start), moment(end), *gap_energies(halves))
            for (tariff, start, end), halves in gaps.items()
        ],
    )


def _tariff_times(keys: Iterable[RowKey]) -> list[str]:
    return columns_of(((*tariff, start) for tariff, start in keys), 3)


def _tariff_spans(spans: Iterable[tuple[Tariff, int, int | None]]) -> list[str]:
    rows = ((*tariff, since, AFTER_ALL_MS if until is None else until) for tariff, since, until in spans)
    return columns_of(rows, 4)
