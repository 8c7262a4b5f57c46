"""Lost phases and too much power: runs of readings, carried on from batch to batch.

Only the readings of meters where something is odd, or was until now, are looked at one by one. Where a late reading
touches a run, the runs from there on are walked again over what the lake holds.
"""

from collections.abc import Mapping, Sequence

from strom.domain.alerts import Alert
from strom.domain.run_kinds import RUN_KINDS, RunKind, RunLimits
from strom.domain.runs import Run, walk_runs
from strom.pipeline.limits import Limits
from strom.pipeline.process.folded import Moment
from strom.settings import RuleSettings
from strom.store.alert_tables import Scope
from strom.store.run_tables import Key, save_runs
from strom.store.writes import Work


def run_limits(rules: RuleSettings) -> RunLimits:
    volts = (rules.phase_loss_v, rules.voltage_severe_low_v, rules.voltage_severe_high_v)
    lost, low, high = (round(volt * 1000) for volt in volts)
    return RunLimits(
        lost, rules.phase_loss_seconds * 1000, low, high,
        rules.most_w * 1000, rules.overload_seconds * 1000, rules.linear_seconds * 1000,
    )  # fmt: skip


class Runs:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def judged(
        self,
        work: Work,
        moments: Mapping[str, Sequence[Moment]],
        carried: Mapping[Key, Run],
        again: Mapping[Key, int],
    ) -> tuple[list[Scope], list[Alert]]:
        """What to look at among the stored alerts, and what should be there.

        Of meters where something is odd or was until now: their readings, the runs that are open, and from where on they
        are walked `again`.
        """
        runs: dict[Key, list[Run]] = {}
        for meter, own in moments.items():
            for kind in RUN_KINDS:
                key = (meter, kind.kind, kind.part)
                runs[key] = self._walked(kind, meter, carried.get(key), own, again.get(key, 0))
        if runs:
            save_runs(work, runs, again.items())
        since = {**again, **{key: run.start for key, run in carried.items()}}
        return [Scope(*key, start) for key, start in since.items()], self._alerts(runs)

    def _walked(
        self, kind: RunKind, meter: str, carried: Run | None, own: Sequence[Moment], since: int
    ) -> list[Run]:
        limits = run_limits(self._limits.settings(meter))
        judged = ((each.t, kind.judge(each.by_name(), limits)) for each in own if each.t >= since)
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
