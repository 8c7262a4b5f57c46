"""Which meters were silent, told by when their messages arrived; history filled in at once is not silence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import SILENT, Alert, quiet_limit_ms, silence
from strom.pipeline.given import of_meters
from strom.pipeline.limits import Limits
from strom.pipeline.series import Cell
from strom.store.alert_tables import Scope
from strom.store.meter_tables import MeterState, silent_meters
from strom.store.writes import Work

ArrivalsOf = Callable[[Sequence[str]], Mapping[str, Sequence[int]]]


def lasting(work: Work, now_ms: int, limits: Limits) -> list[Alert]:
    """The meters that are silent now and were not told of before; a group may be patient where others are not."""
    variants = limits.of_meter.variants
    pushes = min(rules.silent_pushes for rules in variants)
    seconds = min(rules.silent_seconds for rules in variants)
    found = []
    for meter, last, interval in silent_meters(work, now_ms, pushes, seconds * 1000):
        rules = limits.settings(meter)
        limit = quiet_limit_ms(interval, rules.silent_pushes, rules.silent_seconds)
        if last + limit < now_ms:
            found.append(silence(meter, last, limit, None, limits.timezone))
    return found


class Silences:
    """The silences that end within a batch; those that still last are the timer's to find."""

    def __init__(self, limits: Limits, open_alerts: Iterable[Alert]) -> None:
        self._limits = limits
        self._timezone = limits.timezone
        self._open = {alert.meter: alert for alert in open_alerts}

    def ended(
        self,
        cells: Mapping[str, Sequence[Cell]],
        old: Mapping[str, MeterState],
        new: Mapping[str, MeterState],
        arrivals_of: ArrivalsOf,
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        limits = {meter: self._limit(meter, old.get(meter), new[meter]) for meter in cells}
        steps = {meter: max(cell["received_step"] or 0 for cell in own) for meter, own in cells.items()}
        broken = [meter for meter, step in steps.items() if step > limits[meter]]
        exact = arrivals_of(broken) if broken else {}
        scopes: list[Scope] = []
        alerts: list[Alert] = []
        for meter, own in cells.items():
            last = old[meter].received if meter in old else 0
            arrived = exact.get(meter) or [min(cell["received_first"] for cell in own)]
            times = sorted({time for time in arrived if time > last})
            found = self._gaps(meter, [last, *times] if last else times, limits[meter])
            returned = new[meter].received > last
            if found or (returned and meter in self._open):
                scopes.append(Scope(meter, SILENT, "", last + 1))
                alerts += found
        return scopes, alerts

    def _limit(self, meter: str, old: MeterState | None, new: MeterState) -> int:
        """The limit the alert was opened with, else by the interval before these messages, else by what they tell."""
        if meter in self._open:
            return round(self._open[meter].threshold * 1000)
        interval = (old.interval_s if old else None) or new.interval_s or 0
        rules = self._limits.settings(meter)
        return quiet_limit_ms(interval, rules.silent_pushes, rules.silent_seconds)

    def _gaps(self, meter: str, arrived: Sequence[int], limit: int) -> list[Alert]:
        return [
            silence(meter, before, limit, after, self._timezone)
            for before, after in pairwise(arrived)
            if after - before > limit
        ]


def arrivals(fresh: DataFrame, meters: Sequence[str]) -> dict[str, list[int]]:
    """When each message of these meters arrived."""
    found: dict[str, list[int]] = {meter: [] for meter in meters}
    for row in of_meters(fresh, meters).select("meter", F.unix_millis("received").alias("t")).collect():
        found[row["meter"]].append(row["t"])
    return found
