"""Spikes: quarter-hours far outside a meter's habit for their hour of the week.

Nothing is remembered between batches: the quarter-hours in Postgres are the memory. Nearly all of them are lower than
what a spike must be over the usual anyway, so that nothing needs to be looked up for them.
"""

from collections.abc import Mapping, Sequence

from strom.domain.alerts import SPIKE, Alert
from strom.domain.habits import HabitLimits, Spike, local_hour, spike, spike_alerts, spike_hours
from strom.pipeline.limits import Limits
from strom.pipeline.profile_rows import Changed
from strom.settings import RuleSettings
from strom.store.alert_tables import Scope, load_alerts
from strom.store.habit_tables import high_imports, imports_in, last_slots
from strom.store.position_tables import Settled
from strom.store.writes import Work

MWH_PER_W = 250  # of a quarter-hour
_ALMOST_A_WEEK_MS = 7 * 86_400_000 - 2 * 3_600_000  # an hour of the week lasts one, and the clocks may change


def spike_limits(rules: RuleSettings) -> HabitLimits:
    floor = rules.spike_floor_w * MWH_PER_W
    return HabitLimits(rules.spike_mads, floor, rules.spike_warmup_weeks, rules.spike_back_weeks)


class Spikes:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def judged(
        self, work: Work, changed: Changed, new: Mapping[str, Settled]
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        since = self._since(work, changed, new)
        if not since:
            return [], []
        scopes = [Scope(meter, SPIKE, "", start) for meter, start in since.items()]
        high = high_imports(
            work, ((meter, start, self._of(meter).floor_mwh) for meter, start in since.items())
        )
        last = last_slots(work, high)
        zone = self._limits.timezone
        spikes = self._spikes(work, high)
        return scopes, [
            alert for meter, own in spikes.items() for alert in spike_alerts(meter, own, last[meter], zone)
        ]

    def _since(self, work: Work, changed: Changed, new: Mapping[str, Settled]) -> dict[str, int]:
        """From where on the spikes of a meter are to be judged; meters where none can be or have been are left out."""
        first: dict[str, int] = {}
        matter: set[str] = set()
        for (meter, start), mwh in changed.items():
            first[meter] = min(start, first.get(meter, start))
            if mwh is not None and mwh > self._of(meter).floor_mwh:
                matter.add(meter)
        # Of the same hour of a later week there may be quarter-hours that were judged by what has changed.
        matter |= {meter for meter, start in first.items() if new[meter].newest - start > _ALMOST_A_WEEK_MS}
        for alert in load_alerts(work, [Scope(meter, SPIKE, "", start) for meter, start in first.items()]):
            matter.add(alert.meter)
            first[alert.meter] = min(first[alert.meter], alert.started)
        return {meter: first[meter] for meter in matter}

    def _spikes(self, work: Work, high: Mapping[str, Mapping[int, int]]) -> dict[str, list[Spike]]:
        zone = self._limits.timezone
        hours = {(meter, start): local_hour(start, zone) for meter, own in high.items() for start in own}
        wanted = {
            (meter, hour): spike_hours(hour, self._of(meter).back, zone) for (meter, _), hour in hours.items()
        }
        spans = {(meter, span) for (meter, _), own in wanted.items() for span in own}
        past = imports_in(work, spans)
        found: dict[str, list[Spike]] = {meter: [] for meter in high}
        for (meter, start), hour in hours.items():
            before: Sequence[Sequence[int]] = [
                past.get((meter, span[0]), ()) for span in wanted[meter, hour] if span[1] > span[0]
            ]
            judged = spike(start, high[meter][start], before, self._of(meter))
            if judged is not None:
                found[meter].append(judged)
        return found

    def _of(self, meter: str) -> HabitLimits:
        return spike_limits(self._limits.settings(meter))
