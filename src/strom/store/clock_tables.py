"""Ten-minute windows of arrivals and what they tell about a meter's clock, as the table holds them."""

from collections.abc import Iterable, Mapping

from strom.domain.clock import ClockWindow
from strom.store.writes import Work, columns_of

Key = tuple[str, int]  # meter and window


def load_clock_windows(work: Work, since: Iterable[Key]) -> dict[Key, ClockWindow]:
    """Those of these meters from the given starts on."""
    found = work.rows(
        "SELECT c.* FROM unnest(%s::text[], %s::bigint[]) AS k(meter, since) CROSS JOIN LATERAL ("
        "SELECT c.meter, c.start, c.first, c.last, c.least, c.most, c.impossible FROM clock_windows c "
        "WHERE c.meter = k.meter AND c.start >= k.since OFFSET 0) c",
        *columns_of(since, 2),
    )
    return {(meter, start): ClockWindow(start, *rest) for meter, start, *rest in found}


def save_clock_windows(work: Work, windows: Mapping[Key, ClockWindow], void: Iterable[Key]) -> None:
    """`void` are forgotten."""
    work.execute(
        "DELETE FROM clock_windows c USING unnest(%s::text[], %s::bigint[]) AS k(meter, start) "
        "WHERE c.meter = k.meter AND c.start = k.start",
        *columns_of(void, 2),
    )
    work.stage(
        "new_clocks",
        "LIKE clock_windows",
        ((*key, w.first, w.last, w.least, w.most, w.impossible) for key, w in windows.items()),
    )
    work.execute(
        "INSERT INTO clock_windows SELECT * FROM new_clocks ON CONFLICT (meter, start) DO UPDATE SET "
        "first = excluded.first, last = excluded.last, least = excluded.least, most = excluded.most, "
        "impossible = excluded.impossible"
    )
