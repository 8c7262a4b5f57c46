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
BATCHES = 12  # of each that are counted
WARM_UP = 2  # that come before: they generate and compile the code


def cost_growth(
    lab: Lab, settings: Settings, few: int, many: int, report: Callable[[str], None]
) -> tuple[float, float]:
    """Microseconds per message with few and with many meters, all of which send; what is left to settle counts, too.

    The batches of the two take turns, each in tables and a lake of its own: what disturbs the machine disturbs both.
    """
    with _sending(lab, settings, few, report) as little, _sending(lab, settings, many, report) as much:
        for number in range(WARM_UP + BATCHES):
            little.batch(number)
            much.batch(number)
        return little.cost(), much.cost()


@dataclass
class _Sending:
    """A store job with so many meters that send, and what their messages have cost."""

    meters: int
    lab: Lab
    job: StoreJob
    report: Callable[[str], None]
    seconds: float = 0.0

    def batch(self, number: int) -> None:
        pushes = BATCH // self.meters
        readings = self.lab.readings_of(
            BATCH, self.meters, START_S, first=number * pushes, active=self.meters
        )
        took = _timed(lambda: self.job.process(readings, number))
        if number == WARM_UP - 1:
            self.job.settle()
        if number >= WARM_UP:
            self.seconds += took
        self.report(f"{self.meters:,} meters send: {took / BATCH * 1e6:.1f} µs a message")

    def cost(self) -> float:
        """In µs a message."""
        self.seconds += _timed(self.job.settle)
        return self.seconds / (BATCHES * BATCH) * 1e6


def _timed(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


@contextmanager
def _sending(lab: Lab, settings: Settings, meters: int, report: Callable[[str], None]) -> Iterator[_Sending]:
    name = f"sending_{meters}"
    lake = settings.pipeline.model_copy(update={"lake": f"{settings.lake_root}-{name}"})
    job = lab.store_job(settings.with_schema(name).model_copy(update={"pipeline": lake}))
    try:
        yield _Sending(meters, lab, job, report)
    finally:
        job.close()
