"""Ten-minute windows of arrivals and what they tell about a meter's clock, as the table holds them."""

from collections.abc import Iterable, Mapping

from strom.domain.clock import ClockWindow
from strom.store.writes import Work

Key = tuple[str, int]  # meter and window


def load_clock_windows(work: Work, since: Iterable[Key]) -> dict[Key, ClockWindow]:
    """Those of these meters from the given starts on."""
    work.stage("clock_spans", "meter text, since bigint", since)
    found = work.rows(
        "SELECT c.meter, c.start, c.first, c.last, c.least, c.most, c.impossible "
        "FROM clock_spans s JOIN clock_windows c ON c.meter = s.meter AND c.start >= s.since"
    )
    return {(meter, start): ClockWindow(start, *rest) for meter, start, *rest in found}


def save_clock_windows(work: Work, windows: Mapping[Key, ClockWindow], void: Iterable[Key]) -> None:
    """`void` are forgotten."""
    work.stage("void_clocks", "meter text, start bigint", void)
    work.execute(
        "DELETE FROM clock_windows c USING void_clocks v WHERE c.meter = v.meter AND c.start = v.start"
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
