"""Whether a message costs more when more meters are known: the same traffic over little and over much state."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from strom.bench.report import best
from strom.pipeline.bench.lab import Lab
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings

START_S = 1_763_229_600  # 2025-11-15T18:00:00Z, when every benchmark's messages begin
SENDING = 1_000  # meters that send, however many are known
BATCH = 100_000
BATCHES = 6  # of each; the first ones generate and compile the code and are not counted
WARM_UP = 1


def cost_growth(
    lab: Lab, settings: Settings, few: int, many: int, report: Callable[[str], None]
) -> tuple[float, float]:
    """Microseconds per message with few and with many meters known.

    The batches of the two take turns, each in tables and a lake of its own: what disturbs the machine disturbs both.
    """
    with _known(lab, settings, few, report) as little, _known(lab, settings, many, report) as much:
        for number in range(BATCHES):
            little.batch(number)
            much.batch(number)
        return best(little.costs[WARM_UP:]), best(much.costs[WARM_UP:])


@dataclass
class _Known:
    """A store job that knows so many meters, and what a message has cost in each batch."""

    meters: int
    lab: Lab
    job: StoreJob
    report: Callable[[str], None]
    costs: list[float] = field(default_factory=list)

    def batch(self, number: int) -> None:
        pushes = BATCH // SENDING
        readings = self.lab.readings_of(
            BATCH, self.meters, START_S, first=2 + number * pushes, active=SENDING
        )
        began = time.monotonic()
        self.job.process(readings, 1 + number)
        self.costs.append((time.monotonic() - began) / BATCH * 1e6)
        self.report(f"{self.meters:,} meters known: {self.costs[-1]:.1f} µs a message")


@contextmanager
def _known(lab: Lab, settings: Settings, meters: int, report: Callable[[str], None]) -> Iterator[_Known]:
    """Every meter is known by two pushes before the sending ones go on."""
    name = f"known_{meters}"
    lake = settings.pipeline.model_copy(update={"lake": f"{settings.lake_root}-{name}"})
    job = lab.store_job(settings.with_schema(name).model_copy(update={"pipeline": lake}))
    try:
        job.process(lab.readings_of(2 * meters, meters, START_S, first=0, active=meters), 0)
        yield _Known(meters, lab, job, report)
    finally:
        job.close()
