"""What people entered about meters, as the table `meters` holds it beside what the pipeline notes there."""

from collections.abc import Sequence
from typing import Any

from psycopg.rows import dict_row

from strom.domain.master_data import FIELDS, Entry
from strom.store.asking import asking
from strom.store.writes import Work

COLUMNS = ("meter", *FIELDS, "meter_number", "interval_s", "first_seen", "last_seen")


def save_entries(work: Work, entries: Sequence[Entry]) -> list[str]:
    """Set what the entries give and leave the rest; returns the meters that were not known before.

    All entries of one call set the same fields. A meter that has not been heard yet has no `first_seen`.
    """
    if not entries:
        return []
    given = [name for name in FIELDS if name in entries[0].values]
    work.stage(
        "new_master",
        "meter text, area text, tariff text, contract text",
        ((each.meter, *(each.values.get(name) for name in FIELDS)) for each in entries),
    )
    changes = ", ".join(f"{name} = excluded.{name}" for name in given)
    found = work.rows(
        f"INSERT INTO meters (meter, area, tariff, contract) SELECT * FROM new_master "  # noqa: S608 - the names above
        f"ON CONFLICT (meter) DO UPDATE SET {changes} RETURNING meter, xmax = 0"
    )
    return [meter for meter, fresh in found if fresh]


def meters(url: str, *, meter: str | None = None, area: str | None = None) -> list[dict[str, Any]]:
    """The meters with what people and the pipeline know of them, by name."""
    query = """
        SELECT m.meter, m.area, m.tariff, m.contract, m.meter_number, m.interval_s, m.first_seen,
               r.received AS last_seen
        FROM meters m LEFT JOIN readings_latest r USING (meter)
        WHERE (%(meter)s::text IS NULL OR m.meter = %(meter)s) AND (%(area)s::text IS NULL OR m.area = %(area)s)
        ORDER BY m.meter
    """
    with asking(url) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        return cursor.execute(query, {"meter": meter, "area": area}).fetchall()
