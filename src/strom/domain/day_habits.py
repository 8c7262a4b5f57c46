"""Habits of whole nights and days: the least power of a night, and whether a solar plant exports by day.

A span of hours tells one number a day, or none when too little of it is known. A day is judged by the days before it;
neighbouring odd days are one alert, which stays open until a day is as it should be.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from strom.domain.alerts import NIGHT_LOAD, NO_EXPORT, Alert, clock_text
from strom.domain.habits import HabitLimits, Span, hours_span, usual_limit, watts

DAYS = 14  # what came before is known by so many days
EXPORT_LOOK_BACK = 60  # how far back the days are looked for on which a plant still ran


@dataclass(frozen=True, slots=True)
class DayLimits:
    night: HabitLimits
    export_least_mwh: int
    export_days: int


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
    hours: tuple[int, int]
    look_back: int
    suspicious: Callable[[int, DayLimits], bool]
    judge: Callable[[date, Told, DayLimits], Odd | None]
    words: Callable[[str, str, Odd, bool], str]
    worst: Callable[[Odd], float]
    value: Callable[[Odd], tuple[float, float]]

    def span(self, day: date, timezone: str) -> Span:
        return hours_span(day, *self.hours, timezone)

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
        return [self._alert(meter, run, timezone, is_open=going and run is runs[-1]) for run in runs]

    def _alert(self, meter: str, run: list[Odd], timezone: str, *, is_open: bool) -> Alert:
        started, ended = self.span(run[0].day, timezone)[0], self.span(run[-1].day, timezone)[1]
        since, until = clock_text(started, timezone), clock_text(ended, timezone)
        when = f"since {since}" if is_open else f"from {since} to {until}"
        worst = max(run, key=self.worst)
        value, limit = self.value(worst)
        text = self.words(meter, when, worst, is_open)
        return Alert(meter, self.kind, "", started, None if is_open else ended, value, limit, False, text)


def _judge_night(day: date, told: Told, limits: DayLimits) -> Odd | None:
    before = [told[past] for past in _days_before(day, DAYS) if past in told]
    if len(before) < limits.night.warmup:
        return None
    usual, limit = usual_limit(before, limits.night)
    return Odd(day, told[day], usual, limit) if told[day] > limit else None


def _judge_export(day: date, told: Told, limits: DayLimits) -> Odd | None:
    """The days before the export failed count, so that a plant that stays off stays an alert."""
    least = limits.export_least_mwh
    before = [told[past] for past in _days_before(day, EXPORT_LOOK_BACK) if past in told]
    failing = next((count for count, mwh in enumerate(before) if mwh > least), len(before))
    exporting = sum(mwh > least for mwh in before[failing : failing + DAYS])
    return Odd(day, told[day], exporting, least) if exporting >= limits.export_days else None


def _days_before(day: date, count: int) -> list[date]:
    """The nearest first."""
    return [day - timedelta(days=back) for back in range(1, count + 1)]


def _night_words(meter: str, when: str, odd: Odd, is_open: bool) -> str:
    draws, left = ("draws", "is something left on") if is_open else ("drew", "was something left on")
    return (
        f"By night {meter} never {draws} less than {watts(odd.mwh)} W {when}, {watts(odd.usual)} W is usual: "
        f"{left}, or is a device faulty?"
    )


def _export_words(meter: str, when: str, odd: Odd, is_open: bool) -> str:
    feeds, running = (
        ("feeds", "is the solar plant running") if is_open else ("fed", "was the solar plant off")
    )
    return (
        f"{meter} {feeds} nothing worth mentioning into the grid by day {when}, though it did on {odd.usual:g} "
        f"of the {DAYS} days before: {running}?"
    )


NIGHT = DayHabit(
    NIGHT_LOAD,
    (1, 5),
    DAYS,
    lambda mwh, limits: mwh > limits.night.floor_mwh,
    _judge_night,
    _night_words,
    lambda odd: odd.mwh,
    lambda odd: (float(watts(odd.mwh)), float(watts(odd.limit))),
)
EXPORT = DayHabit(
    NO_EXPORT,
    (10, 16),
    EXPORT_LOOK_BACK,
    lambda mwh, limits: mwh <= limits.export_least_mwh,
    _judge_export,
    _export_words,
    lambda odd: -odd.mwh,
    lambda odd: (odd.mwh / 1000, odd.limit / 1000),
)
