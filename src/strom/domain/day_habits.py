"""Habits of whole nights and days: the least power of a night, and whether a solar plant exports by day.

A span of hours tells one number a day, or none when too little of it is known. A day is judged by the days before it;
neighbouring odd days are one alert, which stays open until a day is as it should be.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from strom.domain.alerts import NIGHT_LOAD, NO_EXPORT, Alert, clock_text
from strom.domain.habits import HabitLimits, Span, hours_span, usual_limit, watts

Hours = tuple[int, int]  # local ones of a day, from and to


@dataclass(frozen=True, slots=True)
class DayLimits:
    """A plant must have exported on `export_days` of `export_of_days`, looked for over `export_back` days before."""

    night: HabitLimits
    night_hours: Hours
    export_hours: Hours
    export_least_mwh: int
    export_days: int
    export_of_days: int
    export_back: int


@dataclass(frozen=True, slots=True)
class Odd:
    """`usual`: mWh of a quarter-hour, or the number of days with export."""

    day: date
    mwh: int
    usual: float
    limit: float


Told = Mapping[date, int]  # mWh by local day, where enough is known


@dataclass(frozen=True, slots=True)
class DayHabit:
    """`look_back` days may matter for a day; only a `suspicious` number needs them."""

    kind: str
    hours: Callable[[DayLimits], Hours]
    look_back: Callable[[DayLimits], int]
    suspicious: Callable[[int, DayLimits], bool]
    judge: Callable[[date, Told, DayLimits], Odd | None]
    words: Callable[[str, str, Odd, bool, DayLimits], str]
    worst: Callable[[Odd], float]
    value: Callable[[Odd], tuple[float, float]]

    def span(self, day: date, limits: DayLimits, timezone: str) -> Span:
        return hours_span(day, *self.hours(limits), timezone)

    def alerts(self, meter: str, told: Told, since: date, limits: DayLimits, timezone: str) -> list[Alert]:
        """Those of the days from `since` on; days before are only what they are judged by."""
        runs: list[list[Odd]] = []
        going = False
        for day in sorted(day for day in told if day >= since):
            odd = self.judge(day, told, limits) if self.suspicious(told[day], limits) else None
            if odd is not None and going:
                runs[-1].append(odd)
            elif odd is not None:
                runs.append([odd])
            going = odd is not None
        return [self._alert(meter, run, limits, timezone, is_open=going and run is runs[-1]) for run in runs]

    def _alert(self, meter: str, run: list[Odd], limits: DayLimits, timezone: str, *, is_open: bool) -> Alert:
        first, last = (self.span(odd.day, limits, timezone) for odd in (run[0], run[-1]))
        started, ended = first[0], last[1]
        since, until = clock_text(started, timezone), clock_text(ended, timezone)
        when = f"since {since}" if is_open else f"from {since} to {until}"
        worst = max(run, key=self.worst)
        value, limit = self.value(worst)
        text = self.words(meter, when, worst, is_open, limits)
        return Alert(meter, self.kind, "", started, None if is_open else ended, value, limit, False, text)


def _judge_night(day: date, told: Told, limits: DayLimits) -> Odd | None:
    before = [told[past] for past in _days_before(day, limits.night.back) if past in told]
    if len(before) < limits.night.warmup:
        return None
    usual, limit = usual_limit(before, limits.night)
    return Odd(day, told[day], usual, limit) if told[day] > limit else None


def _judge_export(day: date, told: Told, limits: DayLimits) -> Odd | None:
    """The days before the export failed count, so that a plant that stays off stays an alert."""
    least = limits.export_least_mwh
    before = [told[past] for past in _days_before(day, limits.export_back) if past in told]
    failing = next((count for count, mwh in enumerate(before) if mwh > least), len(before))
    exporting = sum(mwh > least for mwh in before[failing : failing + limits.export_of_days])
    return Odd(day, told[day], exporting, least) if exporting >= limits.export_days else None


def _days_before(day: date, count: int) -> list[date]:
    """The nearest first."""
    return [day - timedelta(days=back) for back in range(1, count + 1)]


def _night_words(meter: str, when: str, odd: Odd, is_open: bool, _: DayLimits) -> str:
    draws, left = ("draws", "is something left on") if is_open else ("drew", "was something left on")
    return (
        f"By night {meter} never {draws} less than {watts(odd.mwh)} W {when}, {watts(odd.usual)} W is usual: "
        f"{left}, or is a device faulty?"
    )


def _export_words(meter: str, when: str, odd: Odd, is_open: bool, limits: DayLimits) -> str:
    feeds, running = (
        ("feeds", "is the solar plant running") if is_open else ("fed", "was the solar plant off")
    )
    return (
        f"{meter} {feeds} nothing worth mentioning into the grid by day {when}, though it did on {odd.usual:g} "
        f"of the {limits.export_of_days} days before: {running}?"
    )


NIGHT = DayHabit(
    NIGHT_LOAD,
    lambda limits: limits.night_hours,
    lambda limits: limits.night.back,
    lambda mwh, limits: mwh > limits.night.floor_mwh,
    _judge_night,
    _night_words,
    lambda odd: odd.mwh,
    lambda odd: (float(watts(odd.mwh)), float(watts(odd.limit))),
)
EXPORT = DayHabit(
    NO_EXPORT,
    lambda limits: limits.export_hours,
    lambda limits: limits.export_back,
    lambda mwh, limits: mwh <= limits.export_least_mwh,
    _judge_export,
    _export_words,
    lambda odd: -odd.mwh,
    lambda odd: (odd.mwh / 1000, odd.limit / 1000),
)
