"""The pipeline beside the bare Spark jobs that bound it, in one run on the same data and machine."""

import platform
from collections.abc import Callable

from strom.bench.growth import START_S, cost_growth
from strom.bench.latency import p99_by_mode
from strom.bench.notes import Notes, least, rate
from strom.bench.on_readings import OnReadings
from strom.bench.plan import IN_ONE_PROCESS, ON_READINGS, Plan
from strom.bench.report import Measure, Report
from strom.bench.workers import load_of, passes_by_workers
from strom.pipeline.bench.lab import Lab, Took, open_lab
from strom.settings import Settings

_WARM_UP_SHARE = 0.25  # of the messages


class PipelineBench:
    """`run` measures everything and tells what it is doing by `say`."""

    def __init__(self, settings: Settings, plan: Plan, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._result = Report(
            "strom bench pipeline",
            f"{plan.messages:,} messages of {plan.meters:,} meters; {platform.machine()}, Python {platform.python_version()}",
        )
        self._notes = Notes(self._result, say)

    def run(self) -> Report:
        plan = self._plan
        if plan.wants(*IN_ONE_PROCESS):
            self._in_one_process()
        if plan.wants("workers"):
            self._workers()
        return self._result

    def _in_one_process(self) -> None:
        plan = self._plan
        with open_lab(self._settings) as lab:
            if plan.wants("normalise", *ON_READINGS):
                self._notes.say(f"making {plan.messages:,} messages")
                lab.fill(plan.messages, plan.meters, START_S)
                limit = self._normalise(lab) if plan.wants("normalise", "all") else None
                if plan.wants(*ON_READINGS):
                    OnReadings(lab, self._settings, plan, self._notes).measure(limit)
            if plan.wants("latency"):
                self._latency(lab)
            if plan.wants("growth"):
                self._growth(lab)

    def _normalise(self, lab: Lab) -> Took:
        """The stage and its limit in turns, so that what disturbs one disturbs the other."""
        for name, run in lab.batch_runs(_WARM_UP_SHARE).items():
            self._notes.say(f"{name}, to warm up")
            run()
        runs = lab.batch_runs()
        took: dict[str, list[Took]] = {name: [] for name in runs}
        for turn in range(self._plan.rounds):
            for name, run in runs.items():
                self._notes.say(f"{name}, run {turn + 1} of {self._plan.rounds}")
                took[name].append(run())
        quickest = {name: least(found) for name, found in took.items()}
        for name, found in quickest.items():
            self._notes.took(name, found)
        limit, stage = quickest["from_json"], quickest["normalise"]
        self._notes.add(
            Measure(
                "normalise",
                limit.us / stage.us,
                "of from_json, same schema",
                f"{rate(stage)} of {rate(limit)}; by processor time {limit.cpu_us / stage.cpu_us:.2f}",
                at_least=0.6,
            )
        )
        return limit

    def _latency(self, lab: Lab) -> None:
        plan, notes = self._plan, self._notes
        notes.say("latency in real-time mode and in micro-batches")
        realtime, batches = p99_by_mode(
            lab, self._settings, plan.latency_rate, plan.latency_seconds, notes.say
        )
        notes.figures |= {"p99 in real-time mode, ms": realtime, "p99 in micro-batches, ms": batches}
        notes.add(
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
        self._notes.say(f"cost per message with {few:,} and with {many:,} meters that send")
        costs = cost_growth(lab, self._settings, few, many, self._notes.say)
        self._notes.add(
            Measure(
                f"cost with {many:,} meters that send",
                costs[1] / costs[0],
                f"of that with {few:,}",
                f"{costs[1]:.1f} µs of {costs[0]:.1f} µs a message",
                at_most=1.5,
            )
        )

    def _workers(self) -> None:
        load = load_of(self._plan.meters)
        one, two = passes_by_workers(self._settings, load, self._plan.rounds, self._notes.say)
        for name, took in (("one worker", one), ("two workers", two)):
            self._notes.figures |= {
                f"passes on {name}, s": round(took.wall, 1),
                f"passes on {name}, s on executors": round(took.on_executors, 1),
                f"passes on {name}, s of shards": round(took.shards, 1),
                f"passes on {name}, s of tasks": round(took.tasks, 1),
            }
        self._notes.add(
            Measure(
                "two workers with one core each",
                one.on_executors / two.on_executors,
                "of one such worker, passes on executors",
                f"{two.on_executors:.1f} s instead of {one.on_executors:.1f} s for {load.readings:,} readings; with the driver's planning "
                f"{two.wall:.1f} s instead of {one.wall:.1f} s",
                at_least=1.6,
            )
        )
