"""Nights with a high load and days without export, judged by the days before them when they are over.

As for the spikes, the quarter-hours in Postgres are the memory, and only suspicious days look further back.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from strom.domain.alerts import Alert
from strom.domain.day_habits import EXPORT, NIGHT, DayHabit, DayLimits
from strom.domain.habits import HabitLimits, Span, local_hour
from strom.domain.slots import SLOT_MS
from strom.pipeline.alerts.habits import MWH_PER_W
from strom.pipeline.limits import Limits
from strom.pipeline.profile_rows import Changed
from strom.settings import RuleSettings
from strom.store.alert_tables import Scope, load_alerts
from strom.store.habit_tables import LEAST_IMPORT, SUM_EXPORT, exporters, last_slots, sums_in
from strom.store.position_tables import Settled
from strom.store.writes import Work

DayKey = tuple[str, date]
_SUMS = {NIGHT.kind: LEAST_IMPORT, EXPORT.kind: SUM_EXPORT}


def day_limits(rules: RuleSettings) -> DayLimits:
    floor = rules.night_floor_w * MWH_PER_W
    return DayLimits(
        night=HabitLimits(rules.night_mads, floor, rules.night_warmup_nights, rules.night_back_nights),
        night_hours=(rules.night_from_hour, rules.night_to_hour),
        export_hours=(rules.export_from_hour, rules.export_to_hour),
        export_least_mwh=rules.export_least_wh * 1000,
        export_days=rules.export_days,
        export_of_days=rules.export_of_days,
        export_back=rules.export_back_days,
    )


class DayHabits:
    def __init__(self, habit: DayHabit, limits: Limits) -> None:
        self._habit = habit
        self._limits = limits
        self._by_rules = {id(rules): day_limits(rules) for rules in limits.of_meter.variants}
        self._zone = limits.timezone

    def judged(
        self, work: Work, changed: Changed, new: Mapping[str, Settled]
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        touched = self._touched(changed, new)
        if not touched:
            return [], []
        since = dict(touched)
        for alert in load_alerts(work, self._scopes(touched)):
            since[alert.meter] = min(since[alert.meter], local_hour(alert.started, self._zone)[0])
        told = self._told(work, self._days_over(work, since))
        suspicious = self._suspicious(work, told)
        earlier = {
            (meter, day - timedelta(days=back))
            for meter, day in suspicious
            for back in range(1, self._habit.look_back(self._of(meter)) + 1)
        }
        told |= self._told(work, earlier - told.keys())
        by_meter: dict[str, dict[date, int]] = {}
        for (meter, day), mwh in told.items():
            by_meter.setdefault(meter, {})[day] = mwh
        return self._scopes(touched), [
            alert
            for meter, own in by_meter.items()
            for alert in self._habit.alerts(meter, own, since[meter], self._of(meter), self._zone)
        ]

    def _touched(self, changed: Changed, new: Mapping[str, Settled]) -> dict[str, date]:
        """The first day of each meter of which something changed and which may be over."""
        found: dict[str, date] = {}
        for meter, start in changed:
            day, hour = local_hour(start, self._zone)
            first, end = self._habit.hours(self._of(meter))
            if first <= hour < end and new[meter].newest >= self._span(meter, day)[1]:
                found[meter] = min(day, found.get(meter, day))
        return found

    def _scopes(self, touched: Mapping[str, date]) -> list[Scope]:
        """Also alerts of the days before: one that ended there may go on."""
        return [
            Scope(meter, self._habit.kind, "", self._span(meter, day - self._back(meter, 1))[0])
            for meter, day in touched.items()
        ]

    def _days_over(self, work: Work, since: Mapping[str, date]) -> set[DayKey]:
        found: set[DayKey] = set()
        for meter, last in last_slots(work, since).items():
            day = since[meter]
            while self._span(meter, day)[1] <= last + SLOT_MS:
                found.add((meter, day))
                day += timedelta(days=1)
        return found

    def _told(self, work: Work, days: Iterable[DayKey]) -> dict[DayKey, int]:
        """What each day tells; nothing where less than half of its quarter-hours are known."""
        spans = {(meter, day): self._span(meter, day) for meter, day in days}
        if not spans:
            return {}
        sums = sums_in(work, _SUMS[self._habit.kind], ((meter, span) for (meter, _), span in spans.items()))
        found: dict[DayKey, int] = {}
        for key, (begin, end) in spans.items():
            mwh, count = sums.get((key[0], begin), (0, 0))
            if count and 2 * count * SLOT_MS >= end - begin:  # hours that the clocks skip have none
                found[key] = mwh
        return found

    def _suspicious(self, work: Work, told: Mapping[DayKey, int]) -> set[DayKey]:
        found = {key for key, mwh in told.items() if self._habit.suspicious(mwh, self._of(key[0]))}
        if self._habit is not EXPORT or not found:
            return found
        # Most meters never export: they are known by an index of those that do.
        first: dict[str, date] = {}
        for meter, day in sorted(found):
            first.setdefault(meter, day)
        last = dict(sorted(found))
        some = exporters(
            work,
            (
                (meter, (self._span(meter, day - self._back(meter))[0], self._span(meter, last[meter])[1]))
                for meter, day in first.items()
            ),
        )
        return {key for key in found if key[0] in some}

    def _span(self, meter: str, day: date) -> Span:
        return self._habit.span(day, self._of(meter), self._zone)

    def _back(self, meter: str, more: int = 0) -> timedelta:
        return timedelta(days=self._habit.look_back(self._of(meter)) + more)

    def _of(self, meter: str) -> DayLimits:
        return self._by_rules[id(self._limits.settings(meter))]
