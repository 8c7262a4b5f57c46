"""Lost phases and too much power: runs of readings, carried on from batch to batch.

Only the readings of meters where something is odd, or was until now, are looked at one by one. Where a late reading
touches a run, the runs from there on are walked again over what the lake holds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.alerts import Alert
from strom.domain.run_kinds import PHASES, POWERS, RUN_KINDS, RunKind, RunLimits
from strom.domain.runs import Run, touched_since, walk_runs
from strom.pipeline import cells as native
from strom.pipeline.given import of_meters
from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.series import Cell
from strom.settings import RuleSettings
from strom.store.alert_tables import Scope
from strom.store.position_tables import Settled
from strom.store.run_tables import Key, load_open_runs, load_runs, save_runs
from strom.store.writes import Work

Points = Mapping[str, Sequence[Any]]  # a meter's moments in order of time


def run_limits(rules: RuleSettings) -> RunLimits:
    volts = (rules.phase_loss_v, rules.voltage_severe_low_v, rules.voltage_severe_high_v)
    lost, low, high = (round(volt * 1000) for volt in volts)
    return RunLimits(
        lost, rules.phase_loss_seconds * 1000, low, high,
        rules.most_w * 1000, rules.overload_seconds * 1000, rules.linear_seconds * 1000,
    )  # fmt: skip


class Runs:
    def __init__(self, limits: Limits, archive: Archive) -> None:
        self._limits = limits
        self._archive = archive

    def judged(
        self,
        work: Work,
        moments: DataFrame,
        cells: Mapping[str, Sequence[Cell]],
        old: Mapping[str, Settled],
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there."""
        odd = {meter for meter, own in cells.items() if any(cell["odd"] for cell in own)}
        late = _late(cells, old)
        carried = load_open_runs(work, cells)
        again = self._again(work, odd, late)
        rewalked = {meter for meter, _, _ in again}
        forward = (odd | {meter for meter, _, _ in carried}) - rewalked - late.keys()
        points = {**self._in_batch(moments, forward), **self._in_lake(again)}
        runs: dict[Key, list[Run]] = {}
        for meter, own in points.items():
            for kind in RUN_KINDS:
                key = (meter, kind.kind, kind.part)
                run = carried.get(key) if meter in forward else None
                runs[key] = self._walked(kind, run, own, again.get(key, 0))
        if runs:
            save_runs(work, runs, again.items())
        since = again | {key: run.start for key, run in carried.items() if key[0] in forward}
        return [Scope(*key, start) for key, start in since.items()], self._alerts(runs)

    def _again(self, work: Work, odd: set[str], late: Mapping[str, int]) -> dict[Key, int]:
        """From where on the runs of meters with late readings are walked again, if those matter."""
        if not late:
            return {}
        stored = load_runs(work, late.items())
        matter = {meter for meter in late if meter in odd} | {meter for meter, _, _ in stored}
        return {
            (meter, kind.kind, kind.part): touched_since(
                late[meter], stored.get((meter, kind.kind, kind.part), ())
            )
            for meter in matter
            for kind in RUN_KINDS
        }

    def _walked(self, kind: RunKind, carried: Run | None, own: Sequence[Any], since: int) -> list[Run]:
        limits = run_limits(self._limits.settings(own[0]["meter"]))
        judged = ((row["t"], kind.judge(row["moment"], limits)) for row in own if row["t"] >= since)
        telling = ((t, verdict) for t, verdict in judged if verdict is not None)
        return walk_runs(carried, telling, kind.worse, limits.apart_ms)

    def _alerts(self, runs: Mapping[Key, Sequence[Run]]) -> list[Alert]:
        kinds = {(kind.kind, kind.part): kind for kind in RUN_KINDS}
        found = (
            kinds[name, part].alert(
                meter, run, run_limits(self._limits.settings(meter)), self._limits.timezone
            )
            for (meter, name, part), own in runs.items()
            for run in own
        )
        return [alert for alert in found if alert is not None]

    def _in_batch(self, moments: DataFrame, meters: set[str]) -> Points:
        if not meters:
            return {}
        return _collected(of_meters(moments, meters))

    def _in_lake(self, again: Mapping[Key, int]) -> Points:
        if not again:
            return {}
        since: dict[str, int | None] = {}
        for (meter, _, _), start in sorted(again.items(), key=lambda pair: pair[1]):
            since.setdefault(meter, start - 1)
        return _collected(native.moments(self._archive.read_since(since)))


def _late(cells: Mapping[str, Sequence[Cell]], old: Mapping[str, Settled]) -> dict[str, int]:
    """The earliest reading of each meter that does not lie after all before it."""
    firsts = {meter: own[0]["first_t"] for meter, own in cells.items() if meter in old}
    return {meter: first for meter, first in firsts.items() if first <= old[meter].newest}


def _collected(moments: DataFrame) -> Points:
    columns = [*(F.col(f"{power}_p").alias(power) for power in POWERS), *map(F.col, PHASES)]
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in moments.select("meter", "t", F.struct(*columns).alias("moment")).sort("t").collect():
        found[row["meter"]].append(row)
    return found
