"""What a meter usually does, and when a quarter-hour is far outside of it: a function of the stored quarter-hours.

Habits are told by the median and the spread by the median deviation (MAD), which single odd days do not move. All
energies are mWh of a quarter-hour.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from statistics import median
from zoneinfo import ZoneInfo

from strom.domain.alerts import SPIKE, Alert, span_text
from strom.domain.slots import SLOT_MS

NORMAL_PER_MAD = 1.4826  # the standard deviation of a normal distribution is as many MAD
QUARTERS = 4  # a quarter-hour's mWh times this are mW

Span = tuple[int, int]  # from, until (epoch ms)
LocalHour = tuple[date, int]


@dataclass(frozen=True, slots=True)
class HabitLimits:
    """`floor_mwh`: what may always come on top of the usual; `warmup`: how many of the `back` weeks or nights before must be known."""

    mads: float
    floor_mwh: int
    warmup: int
    back: int


@lru_cache(4096)
def local_hour(at_ms: int, timezone: str) -> LocalHour:
    local = datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(ZoneInfo(timezone))
    return local.date(), local.hour


@lru_cache(4096)
def hours_span(day: date, first: int, end: int, timezone: str) -> Span:
    """From one local hour of a day to another; on the days when the clocks change it is shorter or longer."""
    return _moment(day, first, timezone), _moment(day, end, timezone)


def usual_limit(values: Sequence[int], limits: HabitLimits) -> tuple[float, float]:
    """The usual, and what it may be at most."""
    usual = median(values)
    spread = NORMAL_PER_MAD * median(abs(value - usual) for value in values)
    return usual, usual + max(limits.mads * spread, limits.floor_mwh)


@dataclass(frozen=True, slots=True)
class Spike:
    start: int
    mwh: int
    usual: float
    limit: float


def spike_hours(hour: LocalHour, weeks: int, timezone: str) -> list[Span]:
    """The same hour of so many weeks before."""
    days = (hour[0] - timedelta(weeks=week) for week in range(1, weeks + 1))
    return [hours_span(day, hour[1], hour[1] + 1, timezone) for day in days]


def spike(start: int, mwh: int, before: Iterable[Sequence[int]], limits: HabitLimits) -> Spike | None:
    """Judge a quarter-hour by those of the same hour in the weeks before; a week may have none."""
    known = [week for week in before if week]
    if len(known) < limits.warmup:
        return None
    usual, limit = usual_limit([value for week in known for value in week], limits)
    return Spike(start, mwh, usual, limit) if mwh > limit else None


def spike_alerts(meter: str, spikes: Iterable[Spike], last: int, timezone: str) -> list[Alert]:
    """Neighbouring ones are one alert, open while none has come after them; `last` is the last quarter-hour there is."""
    runs: list[list[Spike]] = []
    for each in sorted(spikes, key=lambda each: each.start):
        if runs and runs[-1][-1].start + SLOT_MS == each.start:
            runs[-1].append(each)
        else:
            runs.append([each])
    return [_spike_alert(meter, run, last, timezone) for run in runs]


def spikes_of(rows: Mapping[int, int | None], limits: HabitLimits, timezone: str) -> list[Spike]:
    """The whole function at once, from the import of all quarter-hours of a meter."""
    found = []
    for start, mwh in rows.items():
        if mwh is not None:
            hours = spike_hours(local_hour(start, timezone), limits.back, timezone)
            before = [
                [value for at in range(*hour, SLOT_MS) if (value := rows.get(at)) is not None]
                for hour in hours
            ]
            found.append(spike(start, mwh, before, limits))
    return [each for each in found if each is not None]


def watts(mwh: float) -> int:
    """The mean power of a quarter-hour with this energy."""
    return round(mwh * QUARTERS / 1000)


def _spike_alert(meter: str, run: Sequence[Spike], last: int, timezone: str) -> Alert:
    worst = max(run, key=lambda each: each.mwh)
    ended = None if run[-1].start == last else run[-1].start + SLOT_MS
    text = (
        f"{meter} {'draws' if ended is None else 'drew'} up to {watts(worst.mwh)} W "
        f"{span_text(run[0].start, ended, timezone)}, {watts(worst.usual)} W is usual at this hour of the week: "
        f"{'is something on that should not be' if ended is None else 'was something on that should not have been'}?"
    )
    value, limit = float(watts(worst.mwh)), float(watts(worst.limit))
    return Alert(meter, SPIKE, "", run[0].start, ended, value, limit, False, text)


def _moment(day: date, hour: int, timezone: str) -> int:
    """A local hour that the clocks skip is the moment at which they do."""
    local = datetime.combine(day + timedelta(days=hour // 24), time(hour % 24), ZoneInfo(timezone))
    return int(local.timestamp()) * 1000
