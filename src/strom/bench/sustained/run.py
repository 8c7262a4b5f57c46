"""All that `strom bench sustained` does: one rate, or the search for the largest that holds."""

from collections.abc import Callable
from dataclasses import dataclass, field

from strom.bench.report import Report
from strom.bench.sustained.measured import Measured, report_of
from strom.bench.sustained.plan import Limits, Plan
from strom.bench.sustained.search import Search
from strom.bench.sustained.trial import Stop, Trial
from strom.settings import Settings


@dataclass
class Run:
    """One rate that was tried."""

    measured: Measured
    report: Report
    decides: bool

    @property
    def held(self) -> bool:
        return self.report.reached

    @property
    def why(self) -> str:
        """Why it ended before its time, or what fell short first, in the order of the way."""
        return self.measured.ended or next(
            (f"{m.name}: {m.detail}" for m in self.report.measures if not m.reached), ""
        )

    def as_dict(self) -> dict[str, object]:
        return {
            "rate": self.measured.rate,
            "meters": self.measured.meters,
            "seconds": round(self.measured.seconds, 1),
            "decides": self.decides,
            "held": self.held,
            "why": self.why,
        }


@dataclass
class Result:
    runs: list[Run] = field(default_factory=list)
    found: int | None = None  # the largest rate that held for the whole time
    interrupted: bool = False

    @property
    def shown(self) -> Run | None:
        """The run that people want to see: the one that decided, or the last one."""
        return next((run for run in reversed(self.runs) if run.decides), self.runs[-1] if self.runs else None)

    def as_dict(self) -> dict[str, object]:
        told = {} if self.shown is None else self.shown.report.as_dict()
        return told | {
            "sustained": self.found,
            "interrupted": self.interrupted,
            "runs": [run.as_dict() for run in self.runs],
        }


class SustainedBench:
    """`stop` may be called by a signal handler; what was measured up to then is the result."""

    def __init__(
        self, settings: Settings, plan: Plan, say: Callable[[str], None], tick: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._plan = plan
        self._say = say
        self._tick = tick
        self._stop = Stop()
        self._result = Result()

    def stop(self) -> None:
        self._stop.request()

    def run(self, rate: int | None = None) -> Result:
        """At this rate only, or at those of a search."""
        try:
            if rate is None:
                self._search()
            elif self._try(rate, decides=True).held:
                self._result.found = rate
        except KeyboardInterrupt:
            self._result.interrupted = True
        self._result.interrupted |= self._stop.requested
        return self._result

    def _search(self) -> None:
        search = Search(self._plan.first_rate)
        while (step := search.step) is not None:
            held = self._try(step.rate, decides=step.confirms).held
            if self._stop.requested:
                return
            search.note(held)
        self._result.found = search.found

    def _try(self, rate: int, *, decides: bool) -> Run:
        measured = Trial(self._settings, self._plan, rate, decides, self._stop, self._say, self._tick).run()
        run = Run(measured, report_of(measured, Limits()), decides)
        self._result.runs.append(run)
        outcome = "holds" if run.held else run.why
        self._say(f"▸ {rate:,} messages/s: {outcome}")
        return run
