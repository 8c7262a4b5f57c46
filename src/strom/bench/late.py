"""What late readings cost: batches of which 1 % come an hour to days late beside the same batches on time, over a small lake and over 90 days."""

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from strom.bench.growth import Stopwatch
from strom.bench.notes import Notes
from strom.bench.report import Measure, Report
from strom.pipeline.bench.history import DAY_S, History
from strom.pipeline.bench.lab import Lab, open_lab
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store.schema import copy_database, ensure_schema

NOW_S = 1_763_164_800  # 2025-11-15T00:00:00Z, when the history ends and the batches begin
_OLD_EVERY_S = 900  # a reading in a quarter-hour is enough of the days that no late reading reaches


@dataclass(frozen=True)
class LatePlan:
    """`days` of the lake are in the tables, too, and late readings reach into them; `lake_days` are in the large lake."""

    meters: int = 1_000
    interval_s: int = 15
    days: int = 3
    lake_days: int = 90
    batch: int = 100_000
    batches: int = 10
    warm_up: int = 2
    late_every: int = 100  # one reading in so many is late


QUICK = LatePlan(meters=500, days=1, batch=50_000, batches=6)


class LateBench:
    """`run` measures everything and tells what it is doing by `say`."""

    def __init__(self, settings: Settings, plan: LatePlan, say: Callable[[str], None]) -> None:
        self._settings, self._plan = settings, plan
        self._result = Report(
            "strom bench late",
            f"1 of {plan.late_every} readings an hour to {plan.days} days late; {plan.meters:,} meters that send every "
            f"{plan.interval_s} s, {plan.batches} batches of {plan.batch:,}; {platform.machine()}, Python {platform.python_version()}",
        )
        self._notes = Notes(self._result, say)

    def run(self) -> Report:
        plan = self._plan
        with open_lab(self._settings) as lab, ExitStack() as stack:
            # Push 0 is the first of the large lake, so that its counters begin above nothing.
            start_s = NOW_S - plan.lake_days * DAY_S
            history = History(lab.spark, plan.meters, plan.interval_s, start_s)
            filled = self._fill(lab, history)
            sides = [
                stack.enter_context(_side(lab, self._settings, filled, plan, history, late=late))
                for late in (False, True)
            ]
            self._compare(sides, f"a lake of {plan.days} days")
            for each in sides:
                self._notes.say(f"{plan.lake_days - plan.days} days more")
                each.grow()
            self._compare(sides, f"a lake of {plan.lake_days} days")
        return self._result

    def _fill(self, lab: Lab, history: History) -> Settings:
        """A lake of some days, and the tables of it."""
        plan = self._plan
        settings = _placed(self._settings, "filled", self._settings.postgres_url)
        job = lab.store_job(settings, time.monotonic)
        self._notes.say(f"{plan.days} days of {plan.meters:,} meters into the lake and the tables")
        try:
            history.append_days(job.archive, plan.lake_days - plan.days, plan.days)
            job.settle()
        finally:
            job.close()
        return settings

    def _compare(self, sides: list["_Side"], lake: str) -> None:
        """In turns, so that what disturbs one disturbs the other."""
        plan, say = self._plan, self._notes.say
        for number in range(plan.warm_up + plan.batches):
            for each in sides:
                if number == plan.warm_up:
                    each.begin()
                say(f"{lake}, {each.name}: {each.batch():.1f} µs a message")
        none, late = (each.cost(plan.batch * plan.batches) for each in sides)
        self._notes.figures |= {f"{lake}, none late, µs": none, f"{lake}, some late, µs": late}
        self._notes.add(
            Measure(
                f"late readings, {lake}",
                late / none,
                "of the same batches with none late",
                f"{late:.1f} µs of {none:.1f} µs a message",
                at_most=1.3,
            )
        )


@dataclass
class _Side:
    """A store job with a lake and tables of its own, and what its batches have cost."""

    name: str
    late: bool
    plan: LatePlan
    history: History
    job: StoreJob
    watch: Stopwatch
    number: int = 0
    began: float = 0.0

    def batch(self) -> float:
        """Take in the next one; returns its cost in µs a message."""
        plan = self.plan
        readings = self.history.batch(
            self.number,
            plan.batch // plan.meters,
            plan.lake_days * self.history.pushes_a_day,
            late_every=plan.late_every if self.late else 0,
            most_late_s=plan.days * DAY_S,
        ).localCheckpoint()
        before = self.watch.seconds
        with self.watch.running():
            self.job.process(readings, self.number)
        self.number += 1
        return (self.watch.seconds - before) / plan.batch * 1e6

    def begin(self) -> None:
        """It is warm: what follows counts."""
        self.job.settle()
        self.began = self.watch.seconds

    def cost(self, messages: int) -> float:
        """In µs a message since it was warm, with what is left to settle."""
        with self.watch.running():
            self.job.settle()
        return (self.watch.seconds - self.began) / messages * 1e6

    def grow(self) -> None:
        """Add older days to the lake, as if the tables kept less than it."""
        plan = self.plan
        self.history.append_days(self.job.archive, 0, plan.lake_days - plan.days, every_s=_OLD_EVERY_S)
        self.job.skip_to_end()


@contextmanager
def _side(
    lab: Lab, settings: Settings, filled: Settings, plan: LatePlan, history: History, *, late: bool
) -> Iterator[_Side]:
    name = "late" if late else "on_time"
    own = _placed(settings, name, copy_database(filled.postgres_url, f"bench_{name}"))
    shutil.copytree(filled.lake_root, own.lake_root, copy_function=os.link)
    ensure_schema(own.postgres_url)
    watch = Stopwatch()
    job = lab.store_job(own, watch.now)
    try:
        yield _Side("1 % late" if late else "none late", late, plan, history, job, watch)
    finally:
        job.close()


def _placed(settings: Settings, name: str, url: str) -> Settings:
    """With a lake of that name and the tables there."""
    return settings.model_copy(
        update={
            "postgres": settings.postgres.model_copy(update={"url": url}),
            "pipeline": settings.pipeline.model_copy(update={"lake": f"{settings.lake_root}-{name}"}),
        }
    )
