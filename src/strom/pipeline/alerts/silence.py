"""Which meters were silent, told by when their messages arrived; history filled in at once is not silence."""

from collections.abc import Mapping
from dataclasses import replace

from strom.domain.alerts import SILENT, Alert
from strom.domain.silences import Heard, QuietLimits, ended_silences, silence
from strom.pipeline.limits import Limits, quiet_limits
from strom.pipeline.process.arrived import Arrived
from strom.pipeline.process.needs import ArrivalsNeed
from strom.store.alert_tables import Scope, load_open
from strom.store.meter_tables import MeterState, silent_meters
from strom.store.writes import Work


def lasting(work: Work, now_ms: int, limits: Limits) -> list[Alert]:
    """The meters that are silent now and were not told of before; a group may be patient where others are not."""
    variants = [quiet_limits(rules) for rules in limits.of_meter.variants]
    strictest = QuietLimits(
        pushes=min(each.pushes for each in variants),
        least_seconds=min(each.least_seconds for each in variants),
        unknown_seconds=min(each.unknown_seconds for each in variants),
    )
    found = []
    for meter, last, interval in silent_meters(work, now_ms, strictest):
        limit = limits.quiet(meter).ms(interval)
        if last + limit < now_ms:
            found.append(silence(meter, last, limit, None, limits.timezone))
    return found


class Silences:
    """The silences that end with what has arrived; those that still last are the timer's to find."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def lacks(
        self, arrived: Arrived, old: MeterState | None, new: MeterState, need: ArrivalsNeed
    ) -> ArrivalsNeed:
        """The need with every arrival, where a silence may lie between them; the same if none may, or they are there."""
        if need.arrivals:
            return need
        limits, interval = self._limits.quiet(arrived.meter), _interval(old, new)
        step = max(cell.received_step or 0 for cell in arrived.cells)
        is_broken = step > min(limits.ms(interval), limits.ms(None))
        return replace(need, arrivals=True) if is_broken else need

    def ended(
        self,
        work: Work,
        meters: Mapping[str, Arrived],
        old: Mapping[str, MeterState],
        new: Mapping[str, MeterState],
        now_ms: int,
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there.

        What arrived later than now by the clock of its door arrived now.
        """
        open_alerts = {alert.meter: alert for alert in load_open(work, SILENT, meters)}
        scopes: list[Scope] = []
        alerts: list[Alert] = []
        for meter, own in meters.items():
            before, after = old.get(meter), new[meter]
            heard = self._heard(meter, before, open_alerts.get(meter))
            last = heard.received if heard else 0
            first = min(cell.received_first for cell in own.cells), own.cells[0].first_t
            arrivals = [(min(received, now_ms), at) for received, at in own.arrivals or [first]]
            later = [arrival for arrival in arrivals if arrival[0] > last]
            found = ended_silences(
                meter,
                heard,
                later,
                self._limits.quiet(meter),
                _interval(before, after),
                self._limits.timezone,
            )
            if found or (after.heard > last and meter in open_alerts):
                scopes.append(Scope(meter, SILENT, "", last + 1))
                alerts += found
        return scopes, alerts

    def _heard(self, meter: str, old: MeterState | None, alert: Alert | None) -> Heard | None:
        """An alert that is open ends by the limit that it was opened with."""
        if old is None:
            return None
        limit = round(alert.threshold * 1000) if alert else self._limits.quiet(meter).ms(old.interval_s)
        return Heard(old.heard, old.newest, limit, knows_interval=old.interval_s is not None)


def _interval(old: MeterState | None, new: MeterState) -> int | None:
    """The one before these messages, else what they tell."""
    return (old.interval_s if old else None) or new.interval_s
