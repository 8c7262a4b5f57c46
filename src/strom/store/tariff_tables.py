"""Quarter-hours and gaps of tariffs as the tables hold them: those of a meter's totals with one key column more."""

from collections.abc import Iterable, Mapping, Sequence

from strom.domain.tariffs import Tariff
from strom.store.profile_tables import (
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
from strom.store.writes import Work

RowKey = tuple[Tariff, int]  # start
GapKey = tuple[Tariff, int, int]  # start, end


def load_rows(work: Work, since: Iterable[RowKey]) -> dict[RowKey, StoredRow]:
    """All rows of these tariffs from the given starts on."""
    _stage_spans(work, since)
    found = work.rows(
        f"SELECT l.meter, l.tariff, l.start, {LOADED} FROM tariff_spans s "  # noqa: S608 - names, no values
        "JOIN tariff_profile l ON l.meter = s.meter AND l.tariff = s.tariff AND l.start >= s.since"
    )
    return {
        (Tariff(meter, number), millis(start)): loaded(meter, start, *rest)
        for meter, number, start, *rest in found
    }


def save_rows(work: Work, rows: Mapping[RowKey, StoredRow]) -> None:
    if not rows:
        return
    values = ((*tariff, *row_values(row)[1:]) for (tariff, _), row in rows.items())
    work.stage("new_tariff_rows", "LIKE tariff_profile", values)
    work.execute(
        "INSERT INTO tariff_profile SELECT * FROM new_tariff_rows "  # noqa: S608 - names, no values
        f"ON CONFLICT (meter, tariff, start) DO UPDATE SET {REPLACED}"
    )


def delete_rows(work: Work, keys: Sequence[RowKey]) -> None:
    if not keys:
        return
    work.stage(
        "void_tariff_rows",
        "meter text, tariff smallint, start timestamptz",
        ((*tariff, moment(start)) for tariff, start in keys),
    )
    work.execute(
        "DELETE FROM tariff_profile l USING void_tariff_rows v "
        "WHERE l.meter = v.meter AND l.tariff = v.tariff AND l.start = v.start"
    )


def load_gaps(work: Work, since: Iterable[RowKey]) -> dict[GapKey, GapHalves]:
    """All gaps of these tariffs that begin at the given times or later."""
    _stage_spans(work, since)
    found = work.rows(
        'SELECT g.meter, g.tariff, g.start, g."end", g.import_wh, g.export_wh FROM tariff_spans s '
        "JOIN tariff_gaps g ON g.meter = s.meter AND g.tariff = s.tariff AND g.start >= s.since"
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


def _stage_spans(work: Work, since: Iterable[RowKey]) -> None:
    rows = ((*tariff, moment(start)) for tariff, start in since)
    work.stage("tariff_spans", "meter text, tariff smallint, since timestamptz", rows)
