"""What one run at one rate came to, and how that is held against the limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from strom.bench.report import Measure, Report
from strom.bench.sustained.arrivals import Arrived
from strom.bench.sustained.lags import LagSeries, quantile
from strom.bench.sustained.plan import Limits
from strom.bench.sustained.processor import Snapshot

CAUGHT_UP_S = 5.0
OTHERS = "everything else on this machine"


@dataclass
class Measured:
    rate: int
    meters: int
    seconds: float = 0.0  # of the measured span
    sent: int = 0  # in it
    late_ms: int = 0  # most that the load left after its time
    published: int = 0  # confirmed in the whole run, warm-up and all
    caught_up_s: float | None = None  # from the start of the load
    first_readings_s: float = 0.0  # most that `readings` was behind before the measured span
    first_tables_s: float = 0.0  # the same of the tables
    readings: LagSeries = field(default_factory=LagSeries)  # by count
    tables: LagSeries = field(default_factory=LagSeries)
    newest: LagSeries = field(default_factory=LagSeries)
    waiting: int = 0  # published and not in `readings` when the load ended
    page_ms: list[int] = field(default_factory=list)
    page_expected: float = 0.0
    slots: dict[int, float | None] = field(default_factory=dict)
    used: Snapshot = field(default_factory=lambda: Snapshot({}))
    restarts: dict[str, int] = field(default_factory=dict)
    arrived: Arrived | None = None  # None: not waited for
    up_to_date: tuple[int, int] = (0, 0)  # meters with their last message in the tables, of all that sent
    in_lake: int | None = None
    ended: str = ""  # why it ended before its time

    @property
    def was_measured(self) -> bool:
        return self.sent > 0


def verdicts(found: Measured, limits: Limits) -> list[Measure]:
    """Each limit, in the order of the way."""
    if not found.was_measured:
        return [Measure("run", 0.0, "of its time", found.ended or "nothing was measured", at_least=1.0)]
    rows = [_published(found, limits), *_readings(found, limits), *_page(found, limits)]
    rows += [*_tables(found, limits), *_slots(found, limits), *_arrivals(found), _restarts(found)]
    if found.ended:
        rows.append(Measure("run", 0.0, "of its time", found.ended, at_least=1.0))
    return rows


def report_of(found: Measured, limits: Limits) -> Report:
    title = f"strom bench sustained, {found.rate:,}/s"
    conditions = f"{found.rate:,} messages/s of {found.meters:,} meters for {found.seconds:.0f} s"
    return Report(title, conditions, verdicts(found, limits), figures(found))


def figures(found: Measured) -> dict[str, float]:
    all_s = max(found.used.idle_s + found.used.busy_s, 1e-9)
    shown = {
        "messages published in the measured span": found.sent,
        "messages published and confirmed in all": found.published,
        "load, most behind its plan, ms": found.late_ms,
        "processors idle, %": round(100 * found.used.idle_s / all_s, 1),
        "processors used by others, %": round(100 * used_by_others(found) / all_s, 1),
    }
    if found.caught_up_s is not None:
        shown["readings caught up after the start, s"] = round(found.caught_up_s, 1)
    shown["readings behind in the warm-up, maximum, s"] = round(found.first_readings_s, 1)
    shown["tables behind in the warm-up, maximum, s"] = round(found.first_tables_s, 1)
    if found.newest.lag:
        shown["age of the newest reading in the tables, maximum, s"] = round(found.newest.maximum, 1)
    for part, used_us in per_message(found).items():
        shown[f"{part}, µs of processor a message"] = round(used_us, 1)
    for part, kinds in found.used.threads.items():
        for kind, used_s in kinds.items():
            shown[f"{part}: {kind}, µs of processor a message"] = round(used_s / max(found.sent, 1) * 1e6, 1)
    return shown


def per_message(found: Measured) -> dict[str, float]:
    """Microseconds of the processors by part."""
    used: Mapping[str, float] = {**found.used.parts, OTHERS: used_by_others(found)}
    return {part: seconds / max(found.sent, 1) * 1e6 for part, seconds in used.items()}


def used_by_others(found: Measured) -> float:
    """Seconds of the processors that went to none of the parts: what else this machine was doing."""
    return max(0.0, found.used.busy_s - sum(found.used.parts.values()))


def _published(found: Measured, limits: Limits) -> Measure:
    planned = found.rate * found.seconds
    return Measure(
        "published",
        found.sent / max(planned, 1.0),
        "of the rate",
        f"{found.sent / max(found.seconds, 1e-9):,.0f}/s; at most {found.late_ms:,} ms behind the plan",
        at_least=limits.published,
    )


def _readings(found: Measured, limits: Limits) -> list[Measure]:
    rows = [
        _at_most(
            "waiting at the end",
            found.waiting / found.rate,
            limits.waiting_s,
            f"{found.waiting:,} messages published and not in readings",
        )
    ]
    if found.arrived is not None and found.arrived.latencies_ms:
        counts = found.arrived.latencies_ms
        p50, p99 = quantile(counts, 0.5), quantile(counts, 0.99)
        detail = f"p50 {p50:,} ms, p99 {p99:,} ms, maximum {max(counts):,} ms"
    else:
        p99 = round(found.readings.quantile(0.99) * 1000)
        detail = f"by the count of records: p99 {p99:,} ms, maximum {found.readings.maximum * 1000:,.0f} ms"
    return [_at_most("readings behind, p99", p99 / 1000, limits.readings_p99_s, detail), *rows]


def _page(found: Measured, limits: Limits) -> list[Measure]:
    shown = Measure(
        "shown by the page",
        min(1.0, len(found.page_ms) / max(found.page_expected, 1.0)),
        "of the readings it was asked for",
        f"{len(found.page_ms):,} of {found.page_expected:,.0f}",
        at_least=limits.page_shown,
    )
    if not found.page_ms:
        return [shown]
    values = LagSeries(lag=[ms / 1000 for ms in found.page_ms])
    detail = f"p50 {values.quantile(0.5) * 1000:,.0f} ms, p99 {values.quantile(0.99) * 1000:,.0f} ms, maximum {values.maximum * 1000:,.0f} ms"
    return [_at_most("page behind, maximum", values.maximum, limits.page_s, detail), shown]


def _tables(found: Measured, limits: Limits) -> list[Measure]:
    detail = (
        f"median {found.tables.quantile(0.5):.1f} s, p99 {found.tables.quantile(0.99):.1f} s, "
        f"maximum {found.tables.maximum:.1f} s"
    )
    growth = found.tables.growth()
    return [
        _at_most("tables behind, maximum", found.tables.maximum, limits.tables_s, detail),
        _at_most(
            "growth of that",
            max(0.0, growth),
            limits.growth_s,
            f"{growth:+.1f} s from the first third of the run to the last",
        ),
    ]


def _slots(found: Measured, limits: Limits) -> list[Measure]:
    if not found.slots:
        return []
    worst = max((took for took in found.slots.values() if took is not None), default=0.0)
    missing = sum(took is None for took in found.slots.values())
    if missing:
        detail = f"{missing} of {len(found.slots)} quarter-hours were not there when the load ended"
        return [Measure("quarter-hours", 0.0, "of those that ended", detail, at_least=1.0)]
    detail = f"{worst:.1f} s after their end at most, {len(found.slots)} of them"
    return [_at_most("quarter-hours behind", worst, limits.tables_s, detail)]


def _arrivals(found: Measured) -> list[Measure]:
    if found.arrived is None:
        return []
    arrived, published = found.arrived, max(found.published, 1)
    through = arrived.readings + arrived.dead_letters
    there, sent = found.up_to_date
    rows = [
        Measure(
            "arrived in readings",
            min(arrived.raw, through) / published,
            "of what was published",
            f"{found.published:,} published, {arrived.raw:,} raw, {arrived.readings:,} readings, "
            f"{arrived.dead_letters:,} dead letters, {arrived.repeated:,} repeated",
            at_least=1.0,
        ),
        Measure(
            "last message in the tables",
            there / max(sent, 1),
            "of the meters",
            f"{there:,} of {sent:,}",
            at_least=1.0,
        ),
    ]
    if found.in_lake is not None:
        rows.append(
            Measure(
                "in the lake",
                found.in_lake / max(arrived.readings, 1),
                "of the readings",
                f"{found.in_lake:,} of {arrived.readings:,}",
                at_least=1.0,
            )
        )
    return rows


def _restarts(found: Measured) -> Measure:
    names = ", ".join(f"{part} {count}" for part, count in found.restarts.items() if count)
    return Measure(
        "started again", float(sum(found.restarts.values())), "parts", names or "none", at_most=0.0
    )


def _at_most(name: str, value: float, limit: float, detail: str) -> Measure:
    return Measure(name, value / limit, f"of {limit:g} s", detail, at_most=1.0)
