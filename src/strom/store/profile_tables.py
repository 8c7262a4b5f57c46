"""Quarter-hours and gaps as the tables hold them; how they come about is decided elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from strom.domain.load_profile import Direction, Half, Row
from strom.domain.segments import Quality
from strom.store.writes import Work, columns_of

LOADED = (
    "l.import_wh, l.import_quality, l.import_samples, l.export_wh, l.export_quality, l.export_samples, "
    "l.flags, l.expected, l.version"
)
REPLACED = ", ".join(
    f"{name} = excluded.{name}"
    for name in (
        "import_wh", "export_wh", "quality", "samples", "expected", "version", "flags", "import_quality",
        "export_quality", "import_samples", "export_samples",
    )
)  # fmt: skip
# Keys as parameters, epoch milliseconds as the tables' time; each look-up is LATERAL to them and ends with OFFSET 0, so
# that Postgres goes through the primary key for each of them, whatever it thinks of their number.
METER_TIMES = (
    "(SELECT meter, 'epoch'::timestamptz + ms * interval '1 ms' AS start "
    "FROM unnest(%s::text[], %s::bigint[]) AS u(meter, ms)) k"
)
METER_SPANS = (
    "(SELECT meter, 'epoch'::timestamptz + since * interval '1 ms' AS start, "
    "'epoch'::timestamptz + until * interval '1 ms' AS until "
    "FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS u(meter, since, until)) k"
)
AFTER_ALL_MS = 253_402_300_800_000  # the year 10000, beyond every quarter-hour
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StoredRow:
    meter: str
    row: Row
    expected: int | None
    version: int


GapKey = tuple[str, int, int]  # meter, start, end
GapHalves = dict[Direction, int]  # mWh


def moment(epoch_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=epoch_ms)


def millis(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)


def meter_times(keys: Iterable[tuple[str, int]]) -> list[str]:
    """The values of `METER_TIMES`."""
    return columns_of(keys, 2)


def meter_spans(spans: Iterable[tuple[str, int, int | None]]) -> list[str]:
    """The values of `METER_SPANS`."""
    rows = ((meter, since, AFTER_ALL_MS if until is None else until) for meter, since, until in spans)
    return columns_of(rows, 3)


def wh(mwh: int | None) -> Decimal | None:
    return None if mwh is None else Decimal(mwh).scaleb(-3)


def load_rows(work: Work, spans: Iterable[tuple[str, int, int | None]]) -> dict[tuple[str, int], StoredRow]:
    """All rows of these meters from the given starts up to the given ends; None: to the last."""
    return _rows(work, METER_SPANS, meter_spans(spans), "l.start >= k.start AND l.start < k.until")


def rows_at(work: Work, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], StoredRow]:
    """The rows of these meters and starts, as far as there are any."""
    return _rows(work, METER_TIMES, meter_times(keys), "l.start = k.start")


def _rows(work: Work, keys: str, values: Sequence[str], which: str) -> dict[tuple[str, int], StoredRow]:
    found = work.rows(
        f"SELECT l.* FROM {keys} CROSS JOIN LATERAL ("  # noqa: S608 - the names above
        f"SELECT l.meter, l.start, {LOADED} FROM load_profile l WHERE l.meter = k.meter AND {which} OFFSET 0) l",
        *values,
    )
    return {(meter, millis(start)): loaded(meter, start, *rest) for meter, start, *rest in found}


def save_rows(work: Work, rows: Sequence[StoredRow]) -> None:
    if not rows:
        return
    work.ensure_partitions(stored.row.start for stored in rows)
    work.stage("new_rows", "LIKE load_profile", map(row_values, rows))
    work.execute(
        "INSERT INTO load_profile SELECT * FROM new_rows "  # noqa: S608 - the names above
        f"ON CONFLICT (meter, start) DO UPDATE SET {REPLACED}"
    )


def delete_rows(work: Work, keys: Sequence[tuple[str, int]]) -> None:
    if keys:
        work.execute(
            f"DELETE FROM load_profile l USING {METER_TIMES} WHERE l.meter = k.meter AND l.start = k.start",  # noqa: S608
            *meter_times(keys),
        )


def load_gaps(work: Work, spans: Iterable[tuple[str, int, int | None]]) -> dict[GapKey, GapHalves]:
    """All gaps of these meters that begin at the given times or later, and before the given ends."""
    found = work.rows(
        f"SELECT g.* FROM {METER_SPANS} CROSS JOIN LATERAL ("  # noqa: S608 - the names above
        'SELECT g.meter, g.start, g."end", g.import_wh, g.export_wh FROM gaps g '
        "WHERE g.meter = k.meter AND g.start >= k.start AND g.start < k.until OFFSET 0) g",
        *meter_spans(spans),
    )
    return {
        (meter, millis(start), millis(end)): gap_halves(imported, exported)
        for meter, start, end, imported, exported in found
    }


def save_gaps(work: Work, gaps: dict[GapKey, GapHalves]) -> None:
    """A gap without either direction is deleted."""
    replace_gaps(
        work,
        "gaps",
        "meter",
        [
            (meter, moment(start), moment(end), *gap_energies(halves))
            for (meter, start, end), halves in gaps.items()
        ],
    )


def replace_gaps(work: Work, table: str, owner: str, rows: Sequence[Sequence[object]]) -> None:
    """Put these rows in the place of those with the same owner (its columns) and borders; ones without any energy go."""
    if not rows:
        return
    key, staged = f'{owner}, start, "end"', f"new_{table}"
    work.stage(staged, f"LIKE {table}", rows)
    work.execute(f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {staged})")  # noqa: S608 - names
    work.execute(
        f"INSERT INTO {table} SELECT * FROM {staged} WHERE coalesce(import_wh, export_wh) IS NOT NULL"  # noqa: S608
    )


def gap_energies(halves: GapHalves) -> tuple[Decimal | None, Decimal | None]:
    """Import and export in Wh, as the tables have them."""
    return wh(halves.get(Direction.IMPORT)), wh(halves.get(Direction.EXPORT))


def gap_halves(imported: Decimal | None, exported: Decimal | None) -> GapHalves:
    pairs = ((Direction.IMPORT, imported), (Direction.EXPORT, exported))
    return {direction: int(value.scaleb(3)) for direction, value in pairs if value is not None}


def loaded(
    meter: str,
    start: datetime,
    i_wh: Decimal | None,
    i_quality: str | None,
    i_samples: int | None,
    e_wh: Decimal | None,
    e_quality: str | None,
    e_samples: int | None,
    flags: Sequence[str],
    expected: int | None,
    version: int,
) -> StoredRow:
    """A row from its columns `LOADED`."""
    imported = _half(Direction.IMPORT, i_wh, i_quality, i_samples, flags)
    exported = _half(Direction.EXPORT, e_wh, e_quality, e_samples, flags)
    return StoredRow(meter, Row(millis(start), imported, exported), expected, version)


def _half(
    direction: Direction,
    energy: Decimal | None,
    quality: str | None,
    samples: int | None,
    flags: Sequence[str],
) -> Half | None:
    if quality is None:
        return None
    mwh = None if energy is None else int(energy.scaleb(3))
    named = (f"{direction}-reset" in flags, f"{direction}-jump" in flags)
    return Half(mwh, Quality(quality), samples or 0, *named)


def row_values(stored: StoredRow) -> tuple[object, ...]:
    row, i, e = stored.row, stored.row.imported, stored.row.exported
    return (
        stored.meter, moment(row.start), wh(i.mwh) if i else None, wh(e.mwh) if e else None, row.quality.value,
        row.samples, stored.expected, stored.version, list(row.flags), i.quality.value if i else None,
        e.quality.value if e else None, i.samples if i else None, e.samples if e else None,
    )  # fmt: skip
