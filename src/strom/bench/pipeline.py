"""The pipeline beside the bare Spark jobs that bound it, in one run on the same data and machine."""

import platform
from collections.abc import Callable
from dataclasses import dataclass

from strom.bench.growth import START_S, cost_growth
from strom.bench.latency import p99_by_mode
from strom.bench.report import Measure, Report, best
from strom.pipeline.bench_lab import Lab, Took
from strom.settings import Settings
from strom.store.schema import empty_tables

MB = 1 << 20


@dataclass(frozen=True)
class Plan:
    messages: int = 4_000_000
    meters: int = 10_000
    rounds: int = 3
    latency_rate: int = 450
    latency_seconds: int = 30
    growth: tuple[int, int] = (1_000, 100_000)


QUICK = Plan(messages=1_000_000, rounds=2, latency_seconds=20)


class PipelineBench:
    """`run` measures everything and tells what it is doing by `report`."""

    def __init__(self, settings: Settings, plan: Plan, report: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._say = report
        self._heap: list[int] = []

    def run(self) -> Report:
        plan = self._plan
        result = Report(
            "strom bench pipeline",
            f"{plan.messages:,} messages of {plan.meters:,} meters; {platform.machine()}, Python {platform.python_version()}",
        )
        lab = Lab(self._settings)
        try:
            self._say(f"making {plan.messages:,} messages")
            lab.fill(plan.messages, plan.meters, START_S)
            limit = self._normalise(lab, result)
            self._all(lab, result, limit)
            self._profile(lab, result)
            self._latency(lab, result)
            self._growth(lab, result)
        finally:
            lab.close()
        return result

    def _normalise(self, lab: Lab, result: Report) -> Took:
        """The stage and its limit in turns, so that what disturbs one disturbs the other."""
        runs = lab.batch_runs()
        took: dict[str, list[Took]] = {name: [] for name in runs}
        for turn in range(self._plan.rounds + 1):
            for name, run in runs.items():
                self._say(f"{name}, {'to warm up' if turn == 0 else f'run {turn} of {self._plan.rounds}'}")
                took[name].append(run())
        least = {name: _least(found[1:]) for name, found in took.items()}
        for name, found in least.items():
            self._figure(result, name, found)
        result.measures.append(
            Measure(
                "normalise",
                least["from_json"].seconds / least["normalise"].seconds,
                "of from_json, same schema",
                f"{self._rate(least['normalise'])} of {self._rate(least['from_json'])}; "
                f"by processor time {least['from_json'].cpu_seconds / least['normalise'].cpu_seconds:.2f}",
                at_least=0.6,
            )
        )
        return least["from_json"]

    def _all(self, lab: Lab, result: Report, limit: Took) -> None:
        self._say("normalise, Kafka to Kafka")
        first = lab.normalise_all()
        self._say("archive, profile, latest and watch")
        second = lab.store_all(profile_alone=False, on_batch=lambda number: self._after_batch(lab, number))
        together = Took(first.seconds + second.seconds, first.cpu_seconds + second.cpu_seconds)
        self._figure(result, "normalise to Kafka", first)
        self._figure(result, "stages on readings", second)
        result.measures.append(
            Measure(
                "all stages, lake, Postgres",
                limit.seconds / together.seconds,
                "of from_json to nowhere",
                f"{self._rate(together)} of {self._rate(limit)}",
                at_least=0.2,
            )
        )
        early, late = _halves(self._heap)
        result.figures["heap, first half MB"], result.figures["heap, second half MB"] = early / MB, late / MB
        result.measures.append(
            Measure(
                "memory, second half",
                late / early,
                "of the heap in the first half",
                f"{late / MB:.0f} MB after {early / MB:.0f} MB",
                at_most=1.3,
            )
        )

    def _profile(self, lab: Lab, result: Report) -> None:
        bare, stage = [], []
        for turn in range(self._plan.rounds):
            self._say(f"bare windows and profile, run {turn + 1} of {self._plan.rounds}")
            bare.append(lab.windows_all())
            empty_tables(self._settings.postgres_url)
            stage.append(lab.store_all(profile_alone=True, on_batch=lambda _: None))
        limit, took = _least(bare), _least(stage)
        self._figure(result, "bare windows", limit)
        self._figure(result, "profile", took)
        result.measures.append(
            Measure(
                "profile",
                limit.seconds / took.seconds,
                "of windowed max − min",
                f"{self._rate(took)} of {self._rate(limit)}",
                at_least=0.6,
            )
        )

    def _latency(self, lab: Lab, result: Report) -> None:
        self._say("latency in real-time mode and in micro-batches")
        realtime, batches = p99_by_mode(
            lab, self._settings, self._plan.latency_rate, self._plan.latency_seconds
        )
        result.figures["p99 in real-time mode, ms"], result.figures["p99 in micro-batches, ms"] = (
            realtime,
            batches,
        )
        result.measures.append(
            Measure(
                "p99 in real-time mode",
                realtime / batches,
                "of the same in micro-batches",
                f"{realtime:,} ms of {batches:,} ms at {self._plan.latency_rate} messages/s",
                at_most=0.25,
            )
        )

    def _growth(self, lab: Lab, result: Report) -> None:
        few, many = self._plan.growth
        self._say(f"cost per message with {few:,} and with {many:,} meters known")
        costs = cost_growth(lab, self._settings, few, many, self._say)
        result.measures.append(
            Measure(
                f"cost with {many:,} meters",
                costs[1] / costs[0],
                f"of that with {few:,}",
                f"{costs[1]:.1f} µs of {costs[0]:.1f} µs a message",
                at_most=1.3,
            )
        )

    def _after_batch(self, lab: Lab, number: int) -> None:
        self._heap.append(lab.heap_bytes())
        self._say(f"batch {number + 1}, {self._heap[-1] / MB:.0f} MB on the heap")

    def _figure(self, result: Report, name: str, took: Took) -> None:
        result.figures[f"{name}, messages/s"] = round(self._plan.messages / took.seconds)
        result.figures[f"{name}, µs of processor a message"] = round(
            took.cpu_seconds / self._plan.messages * 1e6, 1
        )

    def _rate(self, took: Took) -> str:
        return f"{self._plan.messages / took.seconds:,.0f}/s"


def _least(found: list[Took]) -> Took:
    return Took(best([each.seconds for each in found]), best([each.cpu_seconds for each in found]))


def _halves(heap: list[int]) -> tuple[int, int]:
    """The largest of each half; the first batch still fills caches."""
    settled = heap[1:] or heap
    middle = max(1, len(settled) // 2)
    return max(settled[:middle]), max(settled[middle:] or settled)
