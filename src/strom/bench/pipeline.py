"""The pipeline beside the bare Spark jobs that bound it, in one run on the same data and machine."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strom.bench.growth import START_S, cost_growth
from strom.bench.latency import p99_by_mode
from strom.bench.report import Measure, Report, best
from strom.pipeline.bench.lab import Lab, Took, open_lab
from strom.settings import Settings
from strom.store.schema import empty_tables

MB = 1 << 20
_WARM_UP_SHARE = 0.25  # of the messages
_LEAST_BATCHES = 2  # the first of them is not counted
_LEAST_HEAPS = 4  # the heap is looked at after each batch: two halves of several
PARTS = ("normalise", "all", "memory", "profile", "latency", "growth")


@dataclass(frozen=True)
class Plan:
    messages: int = 4_000_000
    meters: int = 10_000
    rounds: int = 2
    latency_rate: int = 450
    latency_seconds: int = 30
    growth: tuple[int, int] = (1_000, 100_000)
    parts: Sequence[str] = PARTS


QUICK = Plan(messages=1_000_000, latency_seconds=20)


class PipelineBench:
    """`run` measures everything and tells what it is doing by `report`."""

    def __init__(self, settings: Settings, plan: Plan, report: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._say = report
        self._heap: list[int] = []
        self._result = Report(
            "strom bench pipeline",
            f"{plan.messages:,} messages of {plan.meters:,} meters; {platform.machine()}, Python {platform.python_version()}",
        )

    def run(self) -> Report:
        plan = self._plan
        with open_lab(self._settings) as lab:
            if {"normalise", "all", "memory", "profile"} & set(plan.parts):
                self._say(f"making {plan.messages:,} messages")
                lab.fill(plan.messages, plan.meters, START_S)
                limit = self._normalise(lab) if {"normalise", "all"} & set(plan.parts) else None
                if {"all", "memory", "profile"} & set(plan.parts):
                    self._readings(lab, limit)
            if "latency" in plan.parts:
                self._latency(lab)
            if "growth" in plan.parts:
                self._growth(lab)
        return self._result

    def _normalise(self, lab: Lab) -> Took:
        """The stage and its limit in turns, so that what disturbs one disturbs the other."""
        for name, run in lab.batch_runs(_WARM_UP_SHARE).items():
            self._say(f"{name}, to warm up")
            run()
        runs = lab.batch_runs()
        took: dict[str, list[Took]] = {name: [] for name in runs}
        for turn in range(self._plan.rounds):
            for name, run in runs.items():
                self._say(f"{name}, run {turn + 1} of {self._plan.rounds}")
                took[name].append(run())
        least = {name: _least(found) for name, found in took.items()}
        for name, found in least.items():
            self._figure(name, found)
        limit, stage = least["from_json"], least["normalise"]
        self._add(
            Measure(
                "normalise",
                limit.us / stage.us,
                "of from_json, same schema",
                f"{_rate(stage)} of {_rate(limit)}; by processor time {limit.cpu_us / stage.cpu_us:.2f}",
                at_least=0.6,
            )
        )
        return limit

    def _readings(self, lab: Lab, limit: Took | None) -> None:
        """What is made of `readings`, which `normalise` has to write first."""
        self._say("normalise, Kafka to Kafka")
        first = lab.normalise_all()
        self._figure("normalise to Kafka", first)
        if {"all", "memory"} & set(self._plan.parts):
            self._say("archive, profile, latest and watch")
            second = lab.store_all(
                self._batch(_LEAST_HEAPS),
                profile_alone=False,
                on_batch=lambda number: self._after_batch(lab, number),
            )
            self._figure("stages on readings", second)
            if "all" in self._plan.parts and limit is not None:
                self._all(first + second, limit)
            if "memory" in self._plan.parts:
                self._memory()
        if "profile" in self._plan.parts:
            self._profile(lab)

    def _all(self, together: Took, limit: Took) -> None:
        self._add(
            Measure(
                "all stages, lake, Postgres",
                limit.us / together.us,
                "of from_json to nowhere",
                f"{_rate(together)} of {_rate(limit)}",
                at_least=0.2,
            )
        )

    def _memory(self) -> None:
        early, late = _halves(self._heap)
        figures = self._result.figures
        figures["heap, first half MB"], figures["heap, second half MB"] = early / MB, late / MB
        self._add(
            Measure(
                "memory, second half",
                late / early,
                "of the heap in the first half",
                f"{late / MB:.0f} MB after {early / MB:.0f} MB",
                at_most=1.3,
            )
        )

    def _profile(self, lab: Lab) -> None:
        bare, once, stage = [], [], []
        batch = self._batch(_LEAST_BATCHES)
        for turn in range(self._plan.rounds):
            self._say(f"bare windows and profile, run {turn + 1} of {self._plan.rounds}")
            bare.append(lab.windows_all(batch))
            once.append(lab.windows_all(batch, parsed_once=True))
            empty_tables(self._settings.postgres_url)
            stage.append(lab.store_all(batch, profile_alone=True, on_batch=lambda _: None))
        limit, tuned, took = _least(bare), _least(once), _least(stage)
        self._figure("bare windows", limit)
        self._figure("bare windows, parsed once", tuned)
        self._figure("profile", took)
        self._add(
            Measure(
                "profile",
                limit.us / took.us,
                "of windowed max − min",
                f"{_rate(took)} of {_rate(limit)}; {tuned.us / took.us:.2f} of the same tuned to parse once",
                at_least=0.6,
            )
        )

    def _latency(self, lab: Lab) -> None:
        plan, figures = self._plan, self._result.figures
        self._say("latency in real-time mode and in micro-batches")
        realtime, batches = p99_by_mode(
            lab, self._settings, plan.latency_rate, plan.latency_seconds, self._say
        )
        figures["p99 in real-time mode, ms"], figures["p99 in micro-batches, ms"] = realtime, batches
        self._add(
            Measure(
                "p99 in real-time mode",
                realtime / batches,
                "of the same in micro-batches",
                f"{realtime:,} ms of {batches:,} ms at {plan.latency_rate} messages/s",
                at_most=0.25,
            )
        )

    def _growth(self, lab: Lab) -> None:
        few, many = self._plan.growth
        self._say(f"cost per message with {few:,} and with {many:,} meters known")
        costs = cost_growth(lab, self._settings, few, many, self._say)
        self._add(
            Measure(
                f"cost with {many:,} meters",
                costs[1] / costs[0],
                f"of that with {few:,}",
                f"{costs[1]:.1f} µs of {costs[0]:.1f} µs a message",
                at_most=1.3,
            )
        )

    def _batch(self, least: int) -> int:
        """Messages in a micro-batch, so that there are at least so many batches."""
        return min(self._settings.pipeline.max_batch, self._plan.messages // least)

    def _after_batch(self, lab: Lab, number: int) -> None:
        self._heap.append(lab.heap_bytes())
        self._say(f"batch {number + 1}, {self._heap[-1] / MB:.0f} MB on the heap")

    def _add(self, measure: Measure) -> None:
        self._result.measures.append(measure)
        self._say(f"▸ {measure.name}: {measure.ratio:.2f} {measure.against} ({measure.detail})")

    def _figure(self, name: str, took: Took) -> None:
        self._result.figures[f"{name}, messages/s"] = round(took.rate)
        self._result.figures[f"{name}, µs of processor a message"] = round(took.cpu_us, 1)
        self._say(f"▸ {name}: {_rate(took)}, {took.cpu_us:.1f} µs of the processors a message")


def _rate(took: Took) -> str:
    return f"{took.rate:,.0f}/s"


def _least(found: list[Took]) -> Took:
    return Took(best([each.us for each in found]), best([each.cpu_us for each in found]))


def _halves(heap: list[int]) -> tuple[int, int]:
    """The largest of each half; the first batch still fills caches."""
    settled = heap[1:] or heap
    middle = max(1, len(settled) // 2)
    return max(settled[:middle]), max(settled[middle:] or settled)
