"""Which meters were silent, told by when their messages arrived; history filled in at once is not silence."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import SILENT, Alert
from strom.domain.silences import Arrival, Heard, QuietLimits, ended_silences, silence
from strom.pipeline.given import of_meters
from strom.pipeline.limits import Limits, quiet_limits
from strom.pipeline.series import Cell
from strom.store.alert_tables import Scope
from strom.store.meter_tables import MeterState, silent_meters
from strom.store.writes import Work

ArrivalsOf = Callable[[Sequence[str]], Mapping[str, Sequence[Arrival]]]


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
    """The silences that end within a batch; those that still last are the timer's to find."""

    def __init__(self, limits: Limits, open_alerts: Iterable[Alert]) -> None:
        self._limits = limits
        self._open = {alert.meter: alert for alert in open_alerts}

    def ended(
        self,
        cells: Mapping[str, Sequence[Cell]],
        old: Mapping[str, MeterState],
        new: Mapping[str, MeterState],
        arrivals_of: ArrivalsOf,
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        intervals = {meter: _interval(old.get(meter), new[meter]) for meter in cells}
        exact = arrivals_of([meter for meter, own in cells.items() if self._broken(own, intervals[meter])])
        scopes: list[Scope] = []
        alerts: list[Alert] = []
        for meter, own in cells.items():
            heard = self._heard(meter, old.get(meter))
            last = heard.received if heard else 0
            arrived = exact.get(meter) or [(min(cell["received_first"] for cell in own), own[0]["first_t"])]
            later = [arrival for arrival in arrived if arrival[0] > last]
            found = ended_silences(
                meter, heard, later, self._limits.quiet(meter), intervals[meter], self._limits.timezone
            )
            returned = new[meter].received > last
            if found or (returned and meter in self._open):
                scopes.append(Scope(meter, SILENT, "", last + 1))
                alerts += found
        return scopes, alerts

    def _broken(self, own: Sequence[Cell], interval: int | None) -> bool:
        """Whether a silence may lie between the messages of a batch; few have to be looked at one by one."""
        limits = self._limits.quiet(own[0]["meter"])
        step: int = max(cell["received_step"] or 0 for cell in own)
        return step > min(limits.ms(interval), limits.ms(None))

    def _heard(self, meter: str, old: MeterState | None) -> Heard | None:
        """An alert that is open ends by the limit that it was opened with."""
        if old is None:
            return None
        limit = self._limits.quiet(meter).ms(old.interval_s)
        if meter in self._open:
            limit = round(self._open[meter].threshold * 1000)
        return Heard(old.received, old.newest, limit, knows_interval=old.interval_s is not None)


def _interval(old: MeterState | None, new: MeterState) -> int | None:
    """The one before these messages, else what they tell."""
    return (old.interval_s if old else None) or new.interval_s


def arrivals(fresh: DataFrame, meters: Sequence[str]) -> dict[str, list[Arrival]]:
    """When each message of these meters arrived."""
    found: dict[str, list[Arrival]] = {meter: [] for meter in meters}
    if meters:
        times = (F.unix_millis("received").alias("received"), F.unix_millis("at").alias("t"))
        for row in of_meters(fresh, meters).select("meter", *times).collect():
            found[row["meter"]].append((row["received"], row["t"]))
    return found
