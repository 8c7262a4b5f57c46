"""Whether a message costs more when it comes from more meters: all of them send, one reading for each in a batch of 100,000 with many, a hundred with few."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from strom.pipeline.bench.lab import Lab
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings

START_S = 1_763_229_600  # 2025-11-15T18:00:00Z, when every benchmark's messages begin
BATCH = 100_000  # readings
BATCHES = 40  # of each that are counted
WARM_UP = 2  # that come before: they generate and compile the code


def cost_growth(
    lab: Lab, settings: Settings, few: int, many: int, report: Callable[[str], None]
) -> tuple[float, float]:
    """Microseconds per message with few and with many meters, all of which send; what is left to settle counts, too.

    The batches of the two take turns, each in tables and a lake of its own: what disturbs the machine disturbs both. For
    each job only the time counts in which it works, so that its passes are due as if it had nothing but its own load.
    """
    with _sending(lab, settings, few, report) as little, _sending(lab, settings, many, report) as much:
        for number in range(WARM_UP + BATCHES):
            little.batch(number)
            much.batch(number)
        return little.cost(), much.cost()


class Stopwatch:
    """Counts the seconds of what it times, and no others."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: float | None = None

    def now(self) -> float:
        return self.seconds + (time.monotonic() - self._began if self._began is not None else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._began = time.monotonic()
        try:
            yield
        finally:
            self.seconds, self._began = self.now(), None


@dataclass
class _Sending:
    """A store job with so many meters that send, and what their messages have cost."""

    meters: int
    lab: Lab
    job: StoreJob
    watch: Stopwatch
    report: Callable[[str], None]
    warm: float = 0.0  # when it was warm

    def batch(self, number: int) -> None:
        pushes = BATCH // self.meters
        readings = self.lab.readings_of(
            BATCH, self.meters, START_S, first=number * pushes, active=self.meters
        )
        before = self.watch.seconds
        with self.watch.running():
            self.job.process(readings, number)
        self.report(
            f"{self.meters:,} meters send: {(self.watch.seconds - before) / BATCH * 1e6:.1f} µs a message"
        )
        if number == WARM_UP - 1:
            self.job.settle()
            self.warm = self.watch.seconds

    def cost(self) -> float:
        """In µs a message."""
        with self.watch.running():
            self.job.settle()
        return (self.watch.seconds - self.warm) / (BATCHES * BATCH) * 1e6


@contextmanager
def _sending(lab: Lab, settings: Settings, meters: int, report: Callable[[str], None]) -> Iterator[_Sending]:
    name = f"sending_{meters}"
    lake = settings.pipeline.model_copy(update={"lake": f"{settings.lake_root}-{name}"})
    watch = Stopwatch()
    job = lab.store_job(settings.with_schema(name).model_copy(update={"pipeline": lake}), watch.now)
    try:
        yield _Sending(meters, lab, job, watch, report)
    finally:
        job.close()
