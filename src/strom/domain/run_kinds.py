"""Which runs are worth an alert: a phase without voltage, and more power than was agreed.

A condition looks at one moment of a meter: powers in mW, voltages in mV, None where nothing was said.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from strom.domain.alerts import OVERLOAD, PHASE_LOSS, Alert, span_text
from strom.domain.runs import Run, Verdict, Worse

PHASES = ("l1", "l2", "l3")
POWERS = ("import", "export")

Moment = Mapping[str, int | None]  # by "import", "export", "l1", "l2", "l3"


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Thousandths and ms. Voltages from `good_low` to `good_high` are good enough to call another phase lost."""

    lost_mv: int
    lost_ms: int
    good_low_mv: int
    good_high_mv: int
    most_mw: int
    overload_ms: int
    apart_ms: int


@dataclass(frozen=True, slots=True)
class RunKind:
    """`judge` says what a moment means, None where it says nothing; `alert` makes one of a run that lasted."""

    kind: str
    part: str
    worse: Worse
    judge: Callable[[Moment, RunLimits], Verdict | None]
    alert: Callable[[str, Run, RunLimits, str], Alert | None]


def _phase_kind(phase: str) -> RunKind:
    others = [other for other in PHASES if other != phase]

    def judge(moment: Moment, limits: RunLimits) -> Verdict | None:
        """Lost beside at least one phase that is told, all of which are good: a meter on one phase has no other."""
        value = moment[phase]
        if value is None:
            return None
        beside = [mv for mv in (moment[other] for other in others) if mv is not None]
        good = bool(beside) and all(limits.good_low_mv <= mv <= limits.good_high_mv for mv in beside)
        return Verdict(value < limits.lost_mv and good, value)

    def alert(meter: str, run: Run, limits: RunLimits, timezone: str) -> Alert | None:
        if run.lasted <= limits.lost_ms:
            return None
        ended = run.ended(limits.apart_ms)
        volts = round(run.worst / 1000, 1)
        text = (
            f"{meter} {'is' if ended is None else 'was'} without voltage on {phase.upper()} "
            f"{span_text(run.start, ended, timezone)} ({volts:g} V), the other phases "
            f"{'are' if ended is None else 'were'} fine: {'has' if ended is None else 'had'} a fuse blown?"
        )
        threshold = limits.lost_mv / 1000
        return Alert(meter, PHASE_LOSS, phase, run.start, ended, volts, threshold, True, text)

    return RunKind(PHASE_LOSS, phase, min, judge, alert)


def _power_kind(direction: str) -> RunKind:
    lasting, over = {
        "import": (("draws", "does too much run at once?"), ("drew", "did too much run at once?")),
        "export": (
            ("feeds in", "is the inverter limited as agreed?"),
            ("fed in", "was the inverter limited as agreed?"),
        ),
    }[direction]

    def judge(moment: Moment, limits: RunLimits) -> Verdict | None:
        value = moment[direction]
        return None if value is None else Verdict(value > limits.most_mw, value)

    def alert(meter: str, run: Run, limits: RunLimits, timezone: str) -> Alert | None:
        if run.lasted <= limits.overload_ms:
            return None
        ended = run.ended(limits.apart_ms)
        verb, advice = lasting if ended is None else over
        text = (
            f"{meter} {verb} more than the agreed {limits.most_mw / 1_000_000:g} kW "
            f"{span_text(run.start, ended, timezone)}, up to {run.worst / 1_000_000:.1f} kW: {advice}"
        )
        watts, limit = run.worst / 1000, limits.most_mw / 1000
        return Alert(meter, OVERLOAD, direction, run.start, ended, watts, limit, False, text)

    return RunKind(OVERLOAD, direction, max, judge, alert)


RUN_KINDS = (*map(_phase_kind, PHASES), *map(_power_kind, POWERS))
